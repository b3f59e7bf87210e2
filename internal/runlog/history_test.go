package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

const twoTasks = `{"tasks":[{"id":"a","subject":"do a"},{"id":"b","subject":"do b"}]}`

// project returns a folder with a plan and a journal of the events.
func project(t *testing.T, bodies ...event.Body) (dir string, folder loop.Dir) {
	t.Helper()
	dir = t.TempDir()
	testrepo.Files{"plan.json": twoTasks}.Write(t, dir)
	folder = loop.In(dir)
	for i, b := range bodies {
		if s, ok := b.(event.RunStarted); ok {
			s.Plan = filepath.Join(dir, "plan.json")
			bodies[i] = s
		}
	}
	testrepo.Journal(t, folder, bodies...)
	return dir, folder
}

// A run is found by its id or as the last one, with the events up to its end.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir, folder := project(t, event.Notice{Text: "before"}, started("r-1"), event.RunEnded{Status: "complete"},
		started("r-2"), event.Notice{Text: "now"})
	for id, want := range map[string]struct {
		run    string
		events int
		ended  bool
	}{"": {"r-2", 5, false}, "r-2": {"r-2", 5, false}, "r-1": {"r-1", 3, true}} {
		p, err := Load(folder, "", id)
		if err != nil || p.State.Config.Run != want.run || len(p.Events) != want.events ||
			(p.State.Ended != nil) != want.ended {
			t.Errorf("%q: %+v, %v", id, p, err)
			continue
		}
		if p.State.Config.Dir != dir || p.State.Config.Loop != folder || p.Loop != folder {
			t.Errorf("%q: it is in %s, %s", id, p.State.Config.Dir, p.State.Config.Loop)
		}
	}
	// Only the last run can be alive.
	lock, err := Lock(folder, "r-2")
	testrepo.Must(t, err)
	defer func() { testrepo.Must(t, lock.Unlock()) }()
	for id, alive := range map[string]bool{"": true, "r-2": true, "r-1": false} {
		if p, err := Load(folder, "", id); err != nil || p.Alive != alive {
			t.Errorf("%q is alive: %+v, %v", id, p, err)
		}
	}
}

// The error for a missing run says why, and what to do instead.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	above := func(bodies ...event.Body) func(t *testing.T) string {
		return func(t *testing.T) string {
			dir, _ := project(t, bodies...)
			return filepath.Join(dir, "a", "b", ".loop")
		}
	}
	for name, c := range map[string]struct {
		lay  func(t *testing.T) string
		id   string
		says string
	}{
		"nothing": {func(t *testing.T) string { return string(loop.In(t.TempDir())) }, "",
			"start one with: wavex run PLAN"},
		"no such run": {func(t *testing.T) string { _, loop := project(t, started("r-1")); return string(loop) }, "r-9",
			"there is no run r-9"},
		"one is above": {above(started("r-1")), "", "give the command there"},
		"only a request": {func(t *testing.T) string {
			_, folder := project(t, event.RequestOpened{Run: "r-1", Request: "build it"})
			return string(folder)
		}, "", `the request "build it" has no plan yet`},
		"the plan is gone": {func(t *testing.T) string {
			dir, folder := project(t, started("r-1"))
			testrepo.Must(t, os.Remove(filepath.Join(dir, "plan.json")))
			return string(folder)
		}, "", "put it back, or name the file that it is now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var usage *usererr.UsageError
			if p, err := Load(loop.Dir(c.lay(t)), "", c.id); p != nil || !errors.As(err, &usage) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

// Files of attempts are readable as they are, but a file that would block is not opened, and no
// link leads out of the folder.
func TestFiles(t *testing.T) {
	t.Parallel()
	_, folder := project(t, started("r-1"))
	p, err := Load(folder, "", "")
	testrepo.Must(t, err)
	tasks, outside := folder.Run("r-1", loop.Tasks), t.TempDir()
	testrepo.Files{"a/attempt-1/prompt.md": "do it", "a/attempt-1/other": "x"}.Write(t, tasks)
	testrepo.Files{"id_rsa": "private"}.Write(t, outside)
	for at, to := range map[string]string{"a/out": filepath.Join(outside, "id_rsa"), "a/away": outside,
		"a/in": "attempt-1/prompt.md", "a/round": "round"} {
		testrepo.Must(t, os.Symlink(to, filepath.Join(tasks, filepath.FromSlash(at))))
	}
	testrepo.NamedPipe(t, filepath.Join(tasks, "a", "pipe"))
	for name, want := range map[string]string{"a/attempt-1/prompt.md": "do it", "a/in": "do it", "a/out": "",
		"a/away/id_rsa": "", "a/round": "", "a/pipe": "", "a": "", "none": "", "../../r-1": "", "": ""} {
		text, err := fs.ReadFile(p.Files(), name)
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if st, err := fs.Stat(p.Files(), name); want != "" && (err != nil || st.Size() != int64(len(want))) {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

// Of returns the last run of a task list, and no run for a file.
func TestRunOfList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, other := filepath.Join(dir, "tasks", "mine"), filepath.Join(dir, "tasks", "other")
	testrepo.Files{"mine/.highwatermark": "1", "other/.highwatermark": "1", "plan.json": twoTasks}.Write(t,
		filepath.Join(dir, "tasks"))
	folder := loop.In(dir)
	begun := started("r-1")
	begun.Plan = list
	testrepo.Journal(t, folder, begun)
	for _, c := range []struct {
		path       string
		unfinished bool
		want       string
	}{{list, false, "r-1"}, {list, true, "r-1"}, {other, false, ""}, {filepath.Join(dir, "tasks", "plan.json"), false, ""},
		{filepath.Join(dir, "gone"), false, ""}} {
		if got := RunOfList(folder, c.path, c.unfinished); got != c.want {
			t.Errorf("%s, unfinished %v: %q, want %q", c.path, c.unfinished, got, c.want)
		}
	}
	testrepo.Journal(t, folder, event.RunEnded{Status: "complete"})
	if got, all := RunOfList(folder, list, true), RunOfList(folder, list, false); got != "" || all != "r-1" {
		t.Errorf("unfinished %q, any %q", got, all)
	}
	testrepo.Files{"journal.jsonl": "mine\n"}.Write(t, string(folder))
	if got := RunOfList(folder, list, false); got != "" {
		t.Errorf("of a damaged journal %q", got)
	}
}

// Aside lists the paths that were moved aside, the oldest first, and no others.
func TestBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := Backups(loop.Dir(filepath.Join(dir, "never", ".loop"))); got != nil {
		t.Errorf("%q", got)
	}
	for _, name := range []string{".loop.bak-20260102-000000-zzzz", ".loop.bak-20260101-000000-aaaa", ".loop",
		".loops.bak-1", "loop.bak-1"} {
		testrepo.Must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	testrepo.Files{".loop.bak-file": ""}.Write(t, dir)
	var names []string
	for _, at := range Backups(loop.In(dir)) {
		names = append(names, filepath.Base(string(at)))
	}
	if got := fmt.Sprint(names); got != "[.loop.bak-20260101-000000-aaaa .loop.bak-20260102-000000-zzzz]" {
		t.Errorf("%s", got)
	}
}
