package run

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/event"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
)

// A run that goes on in another clone looks at its completed tasks first, also if the first session there ends before
// it has a record.
func TestResumeInClone(t *testing.T) {
	home := t.TempDir()
	dir, here := filepath.Join(home, "project"), filepath.Join(home, "here")
	const text = `{"tasks":[{"id":"a","command":"touch a","files":[{"path":"a","action":"create"}]},` +
		`{"id":"b","blockedBy":["a"],"command":"test -e fixed"}]}`
	testrepo.Must(t, os.Rename(testrepo.Repo(t, testrepo.Files{".gitignore": "plan.json\n"}), dir))
	o, _ := options(t, dir, text)
	if out, _ := run(t, o); out.End.Tasks.Completed != 1 {
		t.Fatalf("%+v", out.End)
	}
	testrepo.Must(t, os.Rename(dir, here))
	testrepo.Git(t, home, "clone", "-q", here, dir)
	testrepo.Must(t, os.CopyFS(o.Config.Loop.Path(), os.DirFS(filepath.Join(here, ".loop"))))
	testrepo.Files{"plan.json": text, "fixed": ""}.Write(t, dir)
	events, err := runlog.Read(o.Config.Loop)
	testrepo.Must(t, err)
	o.Resume, o.JournalLen = true, len(events)
	for range 2 {
		s, err := Open(t.Context(), o)
		testrepo.Must(t, err)
		s.Close(t.Context())
		if b, is := s.startEvent.(event.RunResumed); !is || len(b.Earlier) != 1 || b.Earlier[0].Task != "a" {
			t.Errorf("the session begins with %+v", s.startEvent)
		}
	}
	o.Config.Only = []string{"a", "b"}
	out, _ := run(t, o)
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil || out.End.Status != event.RunComplete {
		t.Errorf("%+v, %v", out.End, err)
	}
}

// A rehearsal that makes work up in a copy of the project finds its copy again, and no other folder.
func TestResumeOfMadeUpWork(t *testing.T) {
	dir := testrepo.Repo(t, nil)
	o, said := options(t, dir, `{"tasks":[{"id":"a","command":"true"},{"id":"b","blockedBy":["a"],"command":"false"}]}`)
	o.Config.MadeUp = true
	if out, _ := run(t, o); out.End.Tasks.Completed != 1 {
		t.Fatalf("%+v", out.End)
	}
	events, err := runlog.Read(o.Config.Loop)
	testrepo.Must(t, err)
	o.Resume, o.JournalLen = true, len(events)
	s, err := Open(t.Context(), o)
	testrepo.Must(t, err)
	s.Close(t.Context())
	if b, is := s.startEvent.(event.RunResumed); !is || b.Earlier != nil {
		t.Errorf("the session begins with %+v\n%s", s.startEvent, said)
	}
}
