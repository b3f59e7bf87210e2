package review

import (
	"maps"
	"path/filepath"
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// This file looks at the declared files of tasks that an earlier run completed. Package scheduler
// decides which tasks are up to date.

// earlierTask is a completed task of an earlier run.
type earlierTask struct {
	task    *plan.Task
	digests map[string]string // of its declared files, as that run left them
}

// earlierTasks returns the tasks of an earlier run that a verification requests.
func earlierTasks(s *scheduler.State, e event.CriteriaStarted) []earlierTask {
	var out []earlierTask
	for _, id := range e.Earlier {
		if i, ok := s.Index(id); ok {
			out = append(out, earlierTask{&s.Plan.Tasks[i], s.Tasks[i].Earlier.Digests})
		}
	}
	return out
}

// lookAtFiles fills in Missing and Changed of a verification, for the project in dir.
func lookAtFiles(dir string, list []earlierTask, out *scheduler.Verification) {
	out.Missing, out.Changed = map[string]string{}, map[string][]string{}
	for _, e := range list {
		t := e.task
		work := t.WorkDir(dir)
		now := map[string]string{}
		for _, f := range t.Files {
			now[f.Path] = runner.FileDigest(work, f.Path)
			switch exists := now[f.Path] != ""; {
			case out.Missing[t.ID] != "" || !f.Writes():
			case f.Action == "delete" && exists:
				out.Missing[t.ID] = "declared file exists again: " + f.Path
			case f.Action != "delete" && !exists:
				out.Missing[t.ID] = "declared file does not exist: " + f.Path
			}
		}
		for _, path := range slices.Sorted(maps.Keys(e.digests)) {
			if d, declared := now[path]; declared && d != e.digests[path] {
				out.Changed[t.ID] = append(out.Changed[t.ID], filepath.ToSlash(filepath.Join(t.SubDir(), path)))
			}
		}
	}
}
