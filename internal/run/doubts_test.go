package run

import (
	"testing"

	"wavex/internal/event"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
)

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
