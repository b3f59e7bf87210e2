//go:build unix

package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// axeVersion is the version of axe-core that looks for defects of accessibility.
const axeVersion = "4.14.1"

// axe returns the script of axe-core. It installs it into the checkout's ignored .tools folder.
func axe(t *testing.T) string {
	t.Helper()
	tools, err := filepath.Abs("../../.tools")
	testrepo.Must(t, err)
	script := filepath.Join(tools, "axe-core", axeVersion, "axe.min.js")
	if _, err := os.Stat(script); err != nil {
		fresh := t.TempDir()
		c := exec.CommandContext(t.Context(), "npm", "install", "--prefix", fresh, "--no-save", "--ignore-scripts",
			"--no-audit", "--no-fund", "axe-core@"+axeVersion)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("installing axe-core: %v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(fresh, "node_modules", "axe-core", "axe.min.js"))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(script), 0o755)
		}
		next := script + fmt.Sprint(".", os.Getpid())
		if err == nil {
			err = os.WriteFile(next, text, 0o644)
		}
		if err == nil {
			err = os.Rename(next, script)
		}
		testrepo.Must(t, err)
	}
	text, err := os.ReadFile(script)
	testrepo.Must(t, err)
	return string(text)
}

// At three widths, dark and light, with a task opened and its parts unfolded, axe finds nothing, and the page is not
// wider than the screen.
func TestAxe(t *testing.T) {
	t.Parallel()
	script := axe(t)
	b := launch(t)
	url := savePage(t, reporttest.BigRun(t, 46))
	for _, width := range []int{390, 1280, 2560} {
		for _, scheme := range []string{"light", "dark"} {
			p := b.tab(width, 1000, scheme)
			p.open(url)
			p.mustBeAccessible(script, scheme+", opened", width)
			p.pressKey("/")
			p.write("T-033")
			p.until(`document.querySelectorAll("#rows tbody tr").length === 1`)
			p.pressKey("Enter")
			p.until(`document.querySelector("#panel-title")`)
			p.eval(`for (const d of document.querySelectorAll("details")) d.open = true`)
			p.mustBeAccessible(script, scheme+", with a task", width)
			p.expectNoErrors(url)
			p.close()
		}
	}
}

// mustBeAccessible fails if axe, of which script is the text, finds a defect, or if the page is wider than the screen.
func (p *tab) mustBeAccessible(script, when string, width int) {
	p.b.t.Helper()
	p.eval(script + "; 0")
	const run = `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => v.id + ": " +
	  v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 120) + " " + (n.any[0] || {}).message)
	    .join("; ")))`
	for _, f := range p.eval(run).Members() {
		p.b.t.Errorf("%d %s: %s", width, when, f.Text())
	}
	if w := p.eval(`document.documentElement.scrollWidth`).Int(); w > int64(width) {
		p.b.t.Errorf("%d %s: the page is %d wide", width, when, w)
	}
}
