package runner

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/filetree"
	"wavex/internal/plan"
)

// TestOutsideChanges: a change by an attempt counts until it is undone, a change by others between two
// attempts never counts, and an unobserved change is compared with the base.
func TestOutsideChanges(t *testing.T) {
	t.Parallel()
	dir, kept := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	write("test.sh", "1")
	write("plan.json", "1")
	write("go.mod", "1")
	req := Request{Dir: dir, Baseline: filepath.Join(kept, "base.json"), Attempt: 1,
		Guards:  []Guard{{Path: "test.sh"}, {Path: "plan.json"}, {Path: "late.sh"}},
		Protect: []string{"*.mod"}}
	var first baseline
	// attempt makes an attempt that does work, and returns the changes reported for it.
	attempt := func(work func()) (tampered, broken []string) {
		t.Helper()
		at := attemptOf(req)
		b, err := at.openBaseline(t.Context())
		must(t, err)
		if first = b; req.Attempt > 1 {
			b = b.withOutsideChanges(t.Context(), at)
		}
		work()
		for _, g := range b.tampered(dir, req.Guards) {
			tampered = append(tampered, g.Path)
		}
		broken = b.changedProtected(&req)
		b.saveFinalState(first, at)
		req.Attempt++
		return tampered, broken
	}
	want := func(step string, tampered, broken []string, files ...string) {
		t.Helper()
		got := append(append([]string{}, tampered...), broken...)
		if len(got) != len(files) {
			t.Fatalf("%s: told of %v, want %v", step, got, files)
		}
		for i := range files {
			if got[i] != files[i] {
				t.Fatalf("%s: told of %v, want %v", step, got, files)
			}
		}
	}
	a, b := attempt(func() { write("test.sh", "2"); write("go.mod", "2") })
	want("changed", a, b, "test.sh", "go.mod")
	a, b = attempt(func() {})
	want("still changed", a, b, "test.sh", "go.mod")
	write("plan.json", "2") // a person
	write("go.mod", "3")
	write("new.mod", "1")
	a, b = attempt(func() {})
	want("mended by a person", a, b, "test.sh")
	must(t, os.Remove(filepath.Join(dir, "new.mod")))
	a, b = attempt(func() {})
	want("removed by a person", a, b, "test.sh")
	a, b = attempt(func() { write("plan.json", "3") })
	want("changed after a person did", a, b, "test.sh", "plan.json")
	a, b = attempt(func() { write("test.sh", "1"); write("plan.json", "2"); write("late.sh", "1") })
	want("put back", a, b, "late.sh")
	req.Attempt++ // this attempt was killed
	write("test.sh", "4")
	a, b = attempt(func() {})
	want("changed unseen", a, b, "test.sh", "late.sh")
	req.Guards = req.Guards[:1]
	write("test.sh", "1")
	a, b = attempt(func() {})
	want("less is guarded", a, b)
	must(t, os.WriteFile(finalStatePath(req.Baseline), []byte(`{"attempt":9,"gua`), 0o600))
	a, b = attempt(func() {})
	want("half a record", a, b, "go.mod")
}

// The checks run before the work once, and once more after others replaced them. A base that does not name its checks
// stands.
func TestChecksBeforeTheWork(t *testing.T) {
	t.Parallel()
	req := Request{Dir: t.TempDir(), Baseline: filepath.Join(t.TempDir(), "base.json")}
	open := func(file string, want int) {
		t.Helper()
		req.Checks = []plan.Check{{File: file}}
		directory := &countedDirectory{}
		at := attemptOf(req)
		at.directory = directory
		b, err := at.openBaseline(t.Context())
		if err != nil || !b.Vacuous || directory.checked != want {
			t.Errorf("the checks ran %d times, want %d: %+v, %v", directory.checked, want, b, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		must(t, os.WriteFile(filepath.Join(req.Dir, name), []byte("x"), 0o600))
	}
	open("a", 1)
	if got := checksDigest([]plan.Check{{Run: "a"}}); got != "0e981dd858f4c2dc" { // bases of earlier versions have it
		t.Errorf("the digest of the checks is %s", got)
	}
	open("a", 0)
	open("b", 1)
	open("b", 0)
	must(t, os.WriteFile(req.Baseline, []byte(`{"files":{},"vacuous":true}`), 0o600))
	open("c", 0)
}

// attemptOf returns an attempt in a directory of its own.
func attemptOf(req Request) *attempt {
	return &attempt{Local: &Local{Host: Host{Lister: &filetree.Lister{}}}, req: req, directory: privateDirectory{}}
}

// countedDirectory counts how often checks run in it.
type countedDirectory struct {
	privateDirectory
	checked int
}

func (d *countedDirectory) Check(ctx context.Context, when CheckTime, run func()) (bool, error) {
	d.checked++
	return d.privateDirectory.Check(ctx, when, run)
}
