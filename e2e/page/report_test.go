//go:build unix

package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// savePage writes a story's report as a file, with the prompt and the stream of an attempt of T-033,
// and returns its address.
func savePage(t *testing.T, s *reporttest.FakeRun) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	testrepo.Must(t, err)
	files := fstest.MapFS{
		"T-033/attempt-1/prompt.md": {Data: []byte("Simplify the parser.\n\n# Rules\nKeep the tests.\n")},
		"T-033/attempt-1/stream.jsonl": {Data: []byte(`{"type":"assistant","message":{"content":[{"id":"t","name":"Edit","type":"tool_use","input":{"file_path":"/project/parse.go"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]},"tool_use_result":{"filePath":"/project/parse.go","structuredPatch":[{"oldStart":12,"oldLines":4,"newStart":12,"newLines":5,"lines":[" func Parse(in string) (int, error) {","-\tn := 0","+\tn := 1 // people count from 1","+\tfor range in {"," \treturn n, nil"," }"]}]}}
`)},
	}
	err = page.Write(f, page.Of(s.S, s.Events, s.Now(), false), page.DetailsOf(s.S, s.Events, files), nil)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	testrepo.Must(t, err)
	return "file://" + path
}

// opensSoon opens a page, which must take less than 2 s.
func opensSoon(t *testing.T, p *tab, url string) {
	t.Helper()
	took := p.open(url)
	for range 9 { // retries, because the machine may be busy or the browser cold
		if took < 2*time.Second {
			break
		}
		took = min(took, p.open(url))
	}
	t.Logf("opened in %v", took)
	if took >= 2*time.Second {
		t.Errorf("opening the page took %v, want less than 2 s", took)
	}
}

// The report of 1,000 tasks opens as soon, at three widths.
func TestReportOf1000(t *testing.T) {
	t.Parallel()
	url := savePage(t, reporttest.BigRun(t, 1000))
	b := launch(t)
	for _, width := range []int{390, 1280, 2560} {
		p := b.tab(width, 1000, "light")
		opensSoon(t, p, url)
		if got := p.text("#graph"); !strings.Contains(got, "1000 tasks") {
			t.Errorf("at %d the graph shows %.200q", width, got)
		}
		p.expectNoErrors(url)
		p.close()
	}
}

// A list is one row, which unfolds, and one node; its failed items have rows at once.
func TestReportOfLists(t *testing.T) {
	t.Parallel()
	url := savePage(t, reporttest.ListRun(t, nil))
	p := launch(t).tab(1360, 1000, "light")
	p.open(url)
	rows := `[...document.querySelectorAll("#rows tbody tr .open")].map((b) => b.lastChild.textContent).join(" ")`
	if got := p.eval(rows).Text(); got != "find migrate migrate[b.go] audit end fix none" {
		t.Errorf("the rows are %s", got)
	}
	row := `document.querySelector('#rows tr[data-list="migrate"]')`
	for _, want := range []string{"5/6, 1 failed", "$0.42", "failed"} {
		if got := p.eval(row + `.innerText`).Text(); !strings.Contains(got, want) {
			t.Errorf("the row of the list has no %q: %s", want, got)
		}
	}
	for _, want := range []string{"find migrate migrate[a.go] migrate[b.go] migrate[c.go] migrate[d.go] migrate[e.go] " +
		"migrate[f.go] audit end fix none", "find migrate migrate[b.go] audit end fix none"} {
		p.eval(row + `.querySelector(".open").click()`)
		if got := p.eval(rows).Text(); got != want {
			t.Errorf("the rows are %s", got)
		}
	}
	if n := p.eval(`document.querySelectorAll("#graph .node").length`).Int(); n != 5 {
		t.Errorf("%d nodes of 3 lists and 2 tasks", n)
	}
	p.eval(`document.querySelector("#graph .node.list").dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
	if got := p.eval(row + `.querySelector(".open").getAttribute("aria-expanded")`).Text(); got != "true" {
		t.Errorf("a click on the node unfolds the row: %q", got)
	}
	p.eval(`document.querySelector('#rows tr[data-i="0"] .open').click()`)
	p.until(`document.querySelector("#panel-title")`)
	p.pressKey("Escape")
	p.pressKey("/")
	p.write("migrate")
	p.until(`document.querySelectorAll("#rows tr[data-list]").length === 0`)
	if got := p.eval(`document.querySelectorAll("#rows tbody tr").length`).Int(); got != 6 {
		t.Errorf("the search finds %d tasks of the list", got)
	}
	p.expectNoErrors(url)
}

// The report of 300 tasks opens in under 2 s, without console messages; it can be searched, and a
// task opened, by keys alone.
func TestReportOf300(t *testing.T) {
	t.Parallel()
	story := reporttest.BigRun(t, 300)
	url := savePage(t, story)
	p := launch(t).tab(1360, 1000, "light")
	opensSoon(t, p, url)
	if p.eval(`document.documentElement.dataset.ready`).Text() != "yes" {
		t.Fatal("the page's script did not come to its end")
	}
	for selector, want := range map[string]string{
		"h1": "Failed: shop-migration", "#matches": "300 tasks", ".tiles": "of $140", "#timeline": "2 sessions",
		"#graph": "300 tasks in 10 waves",
		"#money": "budget $140 from here", ".next": "wavex resume",
	} {
		if got := p.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q in it", selector, got, want)
		}
	}
	p.screenshot("300-light")
	if top := p.eval(`document.querySelector("#failures").getBoundingClientRect().top`).Float(); top <= 0 || top >= 1000 {
		t.Errorf("the failures begin at %v, not on the first screen", top)
	}
	for _, want := range []string{"check failed: go test", "--- FAIL: TestParse", "wavex logs T-"} {
		if got := p.text("#failures"); !strings.Contains(got, want) {
			t.Errorf("the failures lack %q:\n%s", want, got)
		}
	}
	shown := p.eval(`document.querySelectorAll("#failures article").length`).Int()
	if failed := int64(story.S.Counts.Failed); shown != min(5, failed) {
		t.Errorf("%d failures are shown, of %d", shown, failed)
	}

	p.pressKey("/")
	p.write("FAILED go test")
	p.until(`document.querySelector("#matches").textContent.includes(" of 300")`)
	rows := p.eval(`[...document.querySelectorAll("#rows tbody tr")].map((r) => r.innerText).join("|")`).Text()
	if n := strings.Count(rows, "|") + 1; n != story.S.Counts.Failed || strings.Count(rows, "check failed: go test") != n {
		t.Errorf("the search found %q, want the %d failed tasks", rows, story.S.Counts.Failed)
	}
	if off := p.eval(`document.querySelectorAll(".node.off").length`).Int(); off != 300-int64(story.S.Counts.Failed) {
		t.Errorf("%d nodes of the graph are faint", off)
	}
	wide := `document.querySelector("#graph svg").getBoundingClientRect().width`
	own := p.eval(wide).Float()
	p.eval(`document.querySelector('[aria-label="Zoom into the graph"]').click()`)
	if zoomed := p.eval(wide).Float(); zoomed <= 1.4*own {
		t.Errorf("the graph is %v wide, and %v after zooming in", own, zoomed)
	}
	p.eval(`document.querySelector('[aria-label="Fit the graph to the window"]').click()`)
	room := p.eval(`document.querySelector("#graph").clientWidth`).Float()
	if fit := p.eval(wide).Float(); fit > room || p.text("#graph-scale") == "150%" {
		t.Errorf("the graph is %v wide in %v after fitting it", fit, room)
	}
	p.pressKey("Escape")
	p.write("T-033")
	p.until(`document.querySelectorAll("#rows tbody tr").length === 1`)
	p.pressKey("Enter")
	p.until(`!document.querySelector("#panel").hidden && document.querySelector("#panel-title")`)
	panel := p.text("#panel")
	for _, want := range []string{"T-033", "go test ./...", "exit code 1", "Attempt 1", "Attempt 2",
		"Advice: Count from 1 in Parse.", "Dissent: simplifier: drop the counter", "The agent's report, in its own words"} {
		if !strings.Contains(p.eval(`document.querySelector("#panel").textContent`).Text(), want) {
			t.Errorf("the panel does not show %q:\n%s", want, panel)
		}
	}
	if p.eval(`document.activeElement.id`).Text() != "panel-title" {
		t.Error("the focus is not in the panel")
	}
	if got := p.eval(`document.querySelector('#rows .open').getAttribute("aria-expanded")`).Text(); got != "true" {
		t.Errorf("the row's button has aria-expanded %q", got)
	}
	p.eval(`for (const d of document.querySelectorAll("#panel details")) d.open = true`)
	if got := p.text("#panel .steps"); !strings.Contains(got, "Edit") || !strings.Contains(got, "people count from 1") {
		t.Errorf("the transcript shows %q", got)
	}
	if got := p.text("#panel .words p"); got != "All done." {
		t.Errorf("the report's first paragraph is %q", got)
	}
	if got := p.text("#panel .diff .a"); got != "+\tn := 1 // people count from 1" {
		t.Errorf("the first added line of the diff is %q", got)
	}
	p.screenshot("300-panel-light")
	p.pressKey("Escape")
	if !p.eval(`document.querySelector("#panel").hidden`).Bool() {
		t.Error("Escape does not close the panel")
	}
	p.expectNoErrors(url)
}

// The page follows the system's scheme unless the reader chooses one.
func TestThemes(t *testing.T) {
	t.Parallel()
	url := savePage(t, reporttest.BigRun(t, 300))
	p := launch(t).tab(1360, 1000, "dark")
	p.open(url)
	ground := func() string { return p.eval(`getComputedStyle(document.body).backgroundColor`).Text() }
	if got := ground(); got != "rgb(13, 17, 22)" {
		t.Errorf("in a dark system the ground is %s", got)
	}
	p.screenshot("300-dark")
	p.pressKey("t")
	if got := ground(); got != "rgb(246, 245, 241)" {
		t.Errorf("after t the ground is %s", got)
	}
	p.pressKey("t")
	if got := ground(); got != "rgb(13, 17, 22)" {
		t.Errorf("after t again the ground is %s", got)
	}
	p.expectNoErrors(url)
}

// Without a pointer: arrows move in the graph, j and k in the table, and Escape closes dialogs.
// The names and roles for screen readers exist.
func TestKeysAndNames(t *testing.T) {
	t.Parallel()
	url := savePage(t, reporttest.MixedRun(t, nil))
	p := launch(t).tab(1360, 1000, "light")
	p.open(url)
	p.eval(`document.querySelector('.node[tabindex="0"]').focus()`)
	p.pressKey("ArrowRight")
	if got := p.eval(`document.activeElement.getAttribute("aria-label")`).Text(); !strings.HasPrefix(got, "T-004 ") {
		t.Errorf("right of the first task is %q", got)
	}
	p.pressKey("Enter")
	p.until(`document.querySelector("#panel .idline")?.innerText.includes("T-004")`)
	p.pressKey("j")
	p.until(`document.querySelector("#panel .idline").innerText.includes("T-005")`)
	if got := p.eval(`location.hash`).Text(); got != "#task=T-005" {
		t.Errorf("the address ends in %q", got)
	}
	p.pressKey("Escape")
	p.pressKey("?")
	if !p.eval(`document.querySelector("#help").open`).Bool() {
		t.Error("? does not open the list of keys")
	}
	p.pressKey("Escape")
	for _, missing := range []string{
		`[...document.querySelectorAll("button, a[href], input, select")].filter((x) => !(x.getAttribute("aria-label") || x.textContent.trim())).map((x) => x.outerHTML)`,
		`[...document.querySelectorAll("svg:not([aria-hidden])")].filter((x) => !x.getAttribute("aria-label")).map((x) => x.parentNode.className)`,
		`[...document.querySelectorAll("[aria-labelledby]")].filter((x) => !x.hidden && x.id !== "panel" && !document.getElementById(x.getAttribute("aria-labelledby"))).map((x) => x.id)`,
		`["header", "nav", "main", "aside", "footer"].filter((x) => !document.querySelector(x))`,
		`[...document.querySelectorAll("th")].filter((x) => !x.scope).map((x) => x.textContent)`,
		`[...document.querySelectorAll("[id]")].map((x) => x.id).filter((x, i, all) => all.indexOf(x) !== i)`,
	} {
		if got := string(p.eval(missing)); got != "[]" {
			t.Errorf("%s gives %s", missing, got)
		}
	}
	for _, table := range []string{"#timeline", "#money"} {
		p.eval(`document.querySelector("` + table + ` details.alt").open = true`)
		p.until(`document.querySelector("` + table + ` details.alt tbody tr")`)
	}
	if got := p.text("#timeline details.alt"); !strings.Contains(got, "throttled: the API is overloaded (529)") {
		t.Errorf("the timeline as a table: %s", got)
	}
	p.expectNoErrors(url)
}

// A link to a task opens it, even if the task is not among the first rows.
func TestLinkToATask(t *testing.T) {
	t.Parallel()
	url := savePage(t, reporttest.BigRun(t, 300))
	p := launch(t).tab(1360, 1000, "light")
	p.open(url + "#task=T-290")
	p.until(`document.querySelector("#panel .idline")?.innerText.includes("T-290")`)
	p.eval(`document.querySelector(".more").click()`)
	p.until(`document.querySelector("tr.sel")?.innerText.includes("T-290")`)
	p.expectNoErrors(url)
}
