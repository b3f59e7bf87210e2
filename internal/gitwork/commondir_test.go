package gitwork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a run works, a commondir file that an agent adds to the repository makes wavex's git run nothing: neither
// filters nor hooks of the repository that the file names.
func TestCommonDirOfAnAgent(t *testing.T) {
	t.Parallel()
	shared := func(r *repo) Options { o := r.options("r1"); o.Mode = Shared; return o }
	for name, prepare := range map[string]func(r *repo) (act func()){
		"checkpoint": func(r *repo) func() {
			p := r.checkpoints("r1")
			return func() { must(r.t, p.BeforeTask(r.t.Context(), "x")) }
		},
		"shared directory": func(r *repo) func() {
			m := r.open(shared(r))
			return func() {
				if _, known := m.shared.fingerprint(r.t.Context()); !known {
					r.t.Error("the state of the shared directory is not known")
				}
			}
		},
		"integration": func(r *repo) func() {
			m := r.open(r.options("r1"))
			return func() {
				r.attempt(m, "x", r.edits(files{"b": "2\n"}))
				r.integrate(m, 1, "x: ")
			}
		},
		"delivery": func(r *repo) func() {
			m := r.open(r.options("r1"))
			r.attempt(m, "x", r.edits(files{"b": "2\n"}))
			r.integrate(m, 1, "x: ")
			return func() {
				d, err := m.Deliver(r.t.Context(), "", true)
				if err != nil || d.How == "ff" || !strings.Contains(d.Why, "commondir") {
					r.t.Errorf("it is delivered: %+v, %v", d, err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n", ".gitattributes": "* filter=evil\n"})
			act := prepare(r)
			evil, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			copyAll(t, filepath.Join(evil, "git"), filepath.Join(r.dir, ".git"))
			evil = filepath.Join(evil, "git")
			r.gitIn(evil, "config", "filter.evil.clean", "touch '"+ran+"'; cat")
			r.gitIn(evil, "config", "core.hooksPath", filepath.Join(evil, "hooks"))
			for _, hook := range []string{"reference-transaction", "post-merge", "post-index-change"} {
				must(t, os.MkdirAll(filepath.Join(evil, "hooks"), 0o700))
				must(t, os.WriteFile(filepath.Join(evil, "hooks", hook), []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o700))
			}
			must(t, os.WriteFile(filepath.Join(r.dir, ".git", "commondir"), []byte(evil+"\n"), 0o600))
			if name != "delivery" {
				r.write(r.dir, files{"a": "2\n"})
			}
			act()
			if _, err := os.Stat(ran); err == nil {
				t.Error("git ran a program of another repository")
			}
		})
	}
}
