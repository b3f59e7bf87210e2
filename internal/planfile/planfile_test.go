package planfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

const good = `{"tasks":[{"id":"a","subject":"do a","verify":["true"]}]}`

// An unreadable file is a usage error; mistakes in a plan are diagnostics. Load returns a plan or a
// reason, never both.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": good, "bom.json": "\ufeff" + good, "plan.yaml": "tasks:\n- id: a\n  subject: do é\n",
		"wrong.json": `{"tasks":[{"id":"a"},{"id":"a","subject":"x"}]}`, "binary.json": "\x00\xff\x00", "empty.json": "",
		"block.json": `{"tasks":[{"id":"a","subject":"a","rehearse":{"outcome":"no such"}}]}`, "folder/plan.json": good,
		"list/.highwatermark": "1", "list/1.json": `{"id":"1","subject":"do 1","description":"","status":"pending","blocks":[],"blockedBy":[]}`,
		"none/.highwatermark": "0"}.Write(t, dir)
	testrepo.Must(t, os.WriteFile(filepath.Join(dir, "huge.json"), nil, 0o600))
	testrepo.Must(t, os.Truncate(filepath.Join(dir, "huge.json"), 1<<31)) // sparse
	testrepo.Must(t, os.Symlink("plan.json", filepath.Join(dir, "link.json")))
	for name, c := range map[string]struct {
		tasks int    // of the plan; 0: no plan
		usage string // of the error
		code  string // among the diagnostics without a plan
	}{
		"plan.json": {1, "", ""}, "bom.json": {1, "", ""}, "plan.yaml": {1, "", ""}, "link.json": {1, "", ""},
		"list":       {1, "", ""},
		"wrong.json": {0, "", "duplicate"}, "binary.json": {0, "", "encoding"}, "empty.json": {0, "", "empty-plan"},
		"block.json": {0, "", "rehearse"},
		"folder":     {0, "directory", ""}, "gone.json": {0, "there is no plan", ""}, "huge.json": {0, "large", ""},
		"a\nb\x00.json": {0, "invalid", ""},
	} {
		p, diags, err := Load(filepath.Join(dir, name), "")
		var usage *usererr.UsageError
		if n := 0; p != nil {
			if n = len(p.Tasks); n != c.tasks || err != nil {
				t.Errorf("%s: %d tasks, %v", name, n, err)
			}
		} else if c.tasks > 0 || c.usage != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.usage)) ||
			c.code != "" && (err != nil || !strings.Contains(codes(diags), c.code)) {
			t.Errorf("%s: %s, %v", name, codes(diags), err)
		}
		q, err := Read(filepath.Join(dir, name), "")
		var wrong *PlanError
		if (q != nil) != (c.tasks > 0) || (err == nil) != (c.tasks > 0) || c.code != "" && !errors.As(err, &wrong) ||
			c.usage != "" && !errors.As(err, &usage) {
			t.Errorf("reading %s: %v, %v", name, q, err)
		}
	}
	if _, _, err := Load("-", ""); err == nil || !strings.Contains(err.Error(), "/dev/stdin") {
		t.Errorf("a dash: %v", err)
	}
	for name, want := range map[string]bool{"list": true, "none": true, "folder": false, "plan.json": false, "gone": false,
		"": false} {
		if got := IsList(filepath.Join(dir, name)); got != want {
			t.Errorf("%s is a list: %v", name, got)
		}
	}
}

func codes(diags []plan.Diagnostic) (all string) {
	for _, d := range diags {
		all += " " + d.Code + " " + d.Message
	}
	return all
}

// Kept accepts only a plan that can be read again.
func TestCheckReopenable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": good}.Write(t, dir)
	testrepo.NamedPipe(t, filepath.Join(dir, "pipe"))
	for at, to := range map[string]string{"link": "plan.json", "piped": "pipe", "null": os.DevNull} {
		testrepo.Must(t, os.Symlink(to, filepath.Join(dir, at)))
	}
	piped := map[string]bool{"plan.json": true, "link": true, "gone": true, ".": true, "pipe": false, "piped": false,
		"null": false}
	if _, err := os.Lstat(filepath.Join(dir, "pipe")); err != nil { // this system has no named pipes
		piped["pipe"], piped["piped"], piped["null"] = true, true, true
	}
	for name, want := range piped {
		var usage *usererr.UsageError
		if err := CheckReopenable(filepath.Join(dir, name)); (err == nil) != want || err != nil && !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"} {
		if _, err := os.Stat(name); err == nil && CheckReopenable(name) == nil {
			t.Errorf("%s stays", name)
		}
	}
}

// SamePath compares paths by their names.
func TestPathsOfAPlan(t *testing.T) {
	t.Parallel()
	cwd, err := os.Getwd()
	testrepo.Must(t, err)
	p := testrepo.Plan(t, t.TempDir(), good)
	if p.Path = "plan.json"; p.AbsPath() != filepath.Join(cwd, "plan.json") {
		t.Errorf("%s", p.AbsPath())
	}
	if !SamePath("plan.json", filepath.Join(cwd, "x", "..", "plan.json")) || SamePath("plan.json", "Plan.json") ||
		SamePath("a", "b") {
		t.Error("names of one file and of two are not told apart")
	}
}

// A PlanError prints all diagnostics, one per line, and counts the mistakes without the warnings.
func TestPlanError(t *testing.T) {
	t.Parallel()
	mistake, warning := plan.Diagnostic{Severity: plan.SeverityError, File: "p", Line: 1, Message: "no"},
		plan.Diagnostic{Severity: plan.SeverityWarning, File: "p", Line: 2, Message: "hm"}
	for want, diags := range map[string][]plan.Diagnostic{
		"2 mistakes": {mistake, warning, mistake}, "1 mistake;": {warning, mistake}, "0 mistakes": {warning},
	} {
		text := NewPlanError(diags).Error()
		if !strings.Contains(text, want) || strings.Count(text, "\n") != len(diags) || strings.HasSuffix(text, "\n") {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
