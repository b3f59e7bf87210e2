package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// A list shows the run that it is made of, even if the run ends at once, and failures are reported.
func TestListProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	testrepo.Files{".highwatermark": "1", "1.json": `{"id":"1","subject":"a","description":"","status":"pending",` +
		`"blocks":[],"blockedBy":[]}`}.Write(t, list)
	for _, c := range []struct {
		name string
		lay  func()
		says string
	}{
		{"as it is", func() {}, ""},
		{"damaged", func() { testrepo.Files{"1.json": `{"id":"1`}.Write(t, list) }, "wavex: warning:"},
		{"is gone", func() { testrepo.Must(t, os.RemoveAll(list)) }, "wavex: warning:"},
	} {
		r, s := newSession(t, dir, `{"tasks":[{"id":"1","subject":"a"}]}`)
		r.plan.Path = list
		var said bytes.Buffer
		r.opts.Err = &said
		view, done := r.startListProgress(t.Context())
		if view == nil {
			t.Fatalf("%s: no view", c.name)
		}
		c.lay()
		testrepo.Must(t, errors.Join(s.Replay([]event.Event{{Seq: 1, Body: event.RunStarted{Config: r.config}},
			{Seq: 2, Body: event.AttemptStarted{Task: "1", Key: s.Tasks[0].Key, Attempt: 1, Try: 1, Wave: 1,
				Why: "first"}}})))
		view.Event(event.Event{Seq: 2, Body: event.AttemptStarted{Task: "1", Attempt: 1}}, s)
		done()
		if c.says == "" {
			if text, err := os.ReadFile(filepath.Join(list, "1.json")); err != nil || said.Len() > 0 ||
				!bytes.Contains(text, []byte("in_progress")) {
				t.Errorf("%s: %s, %v; it says %s", c.name, text, err, &said)
			}
		} else if !bytes.HasPrefix(said.Bytes(), []byte(c.says)) {
			t.Errorf("%s: it says %q", c.name, &said)
		}
	}
	r, _ := newSession(t, dir, `{"tasks":[{"id":"1","subject":"a"}]}`)
	if view, done := r.startListProgress(t.Context()); view != nil {
		t.Error("a file is shown as a list")
	} else {
		done()
	}
}
