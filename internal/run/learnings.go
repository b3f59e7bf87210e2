package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/learn"
	"wavex/internal/loop"
	"wavex/internal/notes"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/userdata"
	"wavex/runner"
	"wavex/scheduler"
)

// This file proposes lessons from a run that has ended.

// proposeLearnings stores the lessons that the ended run suggests. Its errors do not change the exit code,
// because they do not affect the result of the run.
func (r *Session) proposeLearnings(left bool) {
	if left {
		return
	}
	if err := r.addLearnings(); err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: proposing learnings:", err)
	}
}

func (r *Session) addLearnings() error {
	var events []event.Event
	var err error
	// Only a task that failed first can teach a lesson, so do not read the journal otherwise.
	if slices.ContainsFunc(r.state.Tasks, func(t scheduler.Task) bool { return t.Tries > 1 }) {
		if events, err = runlog.Read(r.config.Loop); err != nil {
			return err
		}
	}
	found := learn.FromFixedFailures(fixedFailures(events, r.config.Run, r.state))
	// Agents were told to note deviations there.
	context, err := notes.ReadContext(cmp.Or(r.config.Track, string(r.config.Loop)))
	if err != nil {
		return err
	}
	found = append(found, learn.Deviations(context, r.config.Run, time.Now().UTC())...)
	if len(found) == 0 {
		return nil
	}
	pending := r.config.Loop.Path(loop.Learnings)
	known := []learn.Learning{}
	for _, path := range append(userdata.LearningFiles(r.config.Dir), pending) {
		list, _, err := learn.Load(path)
		if err != nil {
			return err
		}
		known = append(known, list...)
	}
	found = slices.DeleteFunc(found, func(l learn.Learning) bool {
		return slices.ContainsFunc(known, func(k learn.Learning) bool { return k.ID == l.ID })
	})
	for i := range found {
		found[i] = r.opts.Redactor.Value(found[i]).(learn.Learning)
	}
	if len(found) == 0 {
		return nil
	}
	if r.opts.AutoLearn {
		pending = filepath.Join(userdata.ProjectDir(r.config.Dir), learn.FileName)
	}
	if err := learn.Add(pending, found); err != nil {
		return err
	}
	if r.opts.Notices {
		what := "proposed; see and keep them with: wavex learn"
		if r.opts.AutoLearn {
			what = "kept in " + pending
		}
		fmt.Fprintf(r.opts.Err, "learnt: %s %s\n", report.Plural(len(found), "thing", "things"), what)
	}
	return nil
}

// fixedFailures returns the retries of a run that passed with a panel's advice.
func fixedFailures(events []event.Event, run string, s *scheduler.State) []learn.FixedFailure {
	type task struct {
		failed  runner.Result
		cause   string
		fix     string
		advised bool
	}
	tasks := map[string]*task{}
	of := func(id string) *task {
		if tasks[id] == nil {
			tasks[id] = &task{}
		}
		return tasks[id]
	}
	var out []learn.FixedFailure
	ours := false
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			ours = b.Config.Run == run
			clear(tasks) // tasks of another run with the same names are different tasks
		case event.CounselEnded:
			of(b.Task).cause, of(b.Task).fix = b.Verdict.Analysis, b.Verdict.Fix
		case event.AttemptStarted:
			of(b.Task).advised = b.Advised
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				of(r.Task).failed = r.Result
			}
		case event.AttemptEnded:
			t := of(b.Task)
			switch {
			case b.Result.Outcome.Stuck():
				t.failed = b.Result
			case ours && b.Result.Outcome == runner.Done && t.advised && t.failed.Reason != "":
				turn := learn.FixedFailure{Run: run, Task: b.Task, Failure: t.failed.Reason, Signature: t.failed.Signature,
					Cause: t.cause,
					Fix:   t.fix, Time: e.Time}
				if i, ok := s.Index(b.Task); ok {
					p := &s.Plan.Tasks[i]
					turn.Subject = p.Subject
					for _, f := range p.Files {
						turn.Files = append(turn.Files, f.Path)
					}
				}
				out = append(out, turn)
			}
		}
	}
	return out
}
