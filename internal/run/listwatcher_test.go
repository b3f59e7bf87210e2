package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/tasklist"
	"wavex/internal/testrepo"
)

// taskFile returns a task as a file of a list.
func taskFile(id, subject, blockedBy string) testrepo.Files {
	return testrepo.Files{id + ".json": fmt.Sprintf(`{"id":%q,"subject":%q,"description":"","status":"pending","blocks":[],"blockedBy":[%s]}`, id, subject, blockedBy)}
}

// A new task of the list is sent once, after the tasks that block it. An entry that is invalid or
// still being written is skipped until it is corrected.
func TestListPoll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := tasklist.OpenDir(dir)
	testrepo.Must(t, err)
	to, warnings := make(chan []json.RawMessage, 1), make(chan string, 10)
	w := listWatcher{list: l, run: "r-1", plan: testrepo.Plan(t, dir, `{"tasks":[{"id":"1","subject":"known"},
		{"id":"9","subject":"a list","foreach":["a","b"]}]}`), added: to, warnings: warnings, refused: map[string]string{}}
	look := func() (ids []string) {
		w.poll(t.Context(), time.Now().Add(time.Hour))
		select {
		case found := <-to:
			for _, raw := range found {
				var task struct{ ID string }
				testrepo.Must(t, json.Unmarshal(raw, &task))
				ids = append(ids, task.ID)
			}
		default:
		}
		return ids
	}
	const refused = "task %s of the list cannot join the run: %s"
	for _, step := range []struct {
		files testrepo.Files
		want  string
		says  string
	}{
		{taskFile("1", "known", ""), "[]", ""},
		{taskFile("9", "a list", ""), "[]", ""}, // whose items the plan has
		{taskFile("2", "behind 3", `"3"`), "[]",
			fmt.Sprintf(refused, "2", `it waits for task "3", which the list does not have`)}, // yet
		{testrepo.Files{"3.json": `{"id":"3","subj`}, "[]",
			fmt.Sprintf(refused, "2", `it waits for task "3", which cannot join either`) + "\n" +
				fmt.Sprintf(refused, "3", "the file ends in the middle of the task")},
		{taskFile("3", "new", ""), "[3 2]", ""},
		{nil, "[]", ""},
		{taskFile("3", "edited since", ""), "[]", ""},
		{testrepo.Files{"4.json": `{"id":"4","subject":"","description":"","status":"pending","blocks":[],"blockedBy":[]}`},
			"[]", fmt.Sprintf(refused, "4",
				`task "4" has neither subject nor prompt nor command; say what to do`)},
		{nil, "[]", ""}, // once
		{taskFile("4", "mended", `"1","2"`), "[4]", ""},
		{taskFile("5", "behind itself", `"5"`), "[]",
			fmt.Sprintf(refused, "5", "it waits for itself, or for tasks that wait for themselves")},
		{testrepo.Files{"6.json": "\x00\xff"}, "[]", fmt.Sprintf(refused, "6",
			`no JSON: invalid character '\x00' at start of value`)},
		{taskFile("7", "é ü 日本 \u202e", ""), "[7]", ""},
		{testrepo.Files{"8.json": `{"id":"8","subject":"a list","description":"","status":"pending",
			"blocks":[],"blockedBy":[],"metadata":{"wavex":{"foreach":["a"]}}}`}, "[]",
			fmt.Sprintf(refused, "8", "a task list has no place for a list (foreach); run the task by a plan file")},
	} {
		step.files.Write(t, dir)
		if got := fmt.Sprint(look()); got != step.want {
			t.Errorf("after %v: %s, want %s", step.files, got, step.want)
		}
		var said []string
		for len(warnings) > 0 {
			said = append(said, <-warnings)
		}
		if got := strings.Join(said, "\n"); got != step.says {
			t.Errorf("after %v: it says\n%s\nwant\n%s", step.files, got, step.says)
		}
	}
	testrepo.Must(t, os.RemoveAll(dir))
	if got := look(); got != nil {
		t.Errorf("of a list that is gone: %v", got)
	}
}

// look does not block when the run is over.
func TestListPollStopsWithContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taskFile("2", "new", "").Write(t, dir)
	l, err := tasklist.OpenDir(dir)
	testrepo.Must(t, err)
	w := listWatcher{list: l, run: "r-1", plan: testrepo.Plan(t, dir, `{"tasks":[{"id":"1","subject":"known"}]}`),
		added: make(chan []json.RawMessage)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.poll(ctx, time.Now().Add(time.Hour)) // there is no receiver
}

// Tasks join only a run that is made of a list which agents do not share, and the goroutine for it
// ends.
func TestWatchList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"list/.highwatermark": "1", "plan.json": "{}"}.Write(t, dir)
	for name, c := range map[string]struct {
		path, shared string
		want         bool
	}{"a list": {"list", "", true}, "a shared list": {"list", "list", false}, "a file": {"plan.json", "", false},
		"nothing": {"gone", "", false}} {
		r, _ := newSession(t, dir, `{"tasks":[{"id":"1","subject":"a"}]}`)
		r.plan.Path, r.config.TaskList = filepath.Join(dir, c.path), c.shared
		tasks, _, stop := r.watchList(t.Context())
		if (tasks != nil) != c.want {
			t.Errorf("%s: %v", name, tasks)
		}
		stop()
	}
}

// A list shows the run that it is made of, even if the run ends at once, and failures are reported.
func TestListProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	testrepo.Files{".highwatermark": "1"}.Write(t, list)
	taskFile("1", "a", "").Write(t, list)
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
