package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/loop"
	"wavex/internal/notes"
	"wavex/internal/report"
	"wavex/internal/userdata"
	"wavex/runner"
	"wavex/scheduler"
)

// This file proposes lessons from a run that has ended.

// proposeLearnings stores the lessons that the ended run suggests. Its errors do not change the exit code,
// because they do not affect the result of the run.
func (r *Session) proposeLearnings() {
	if err := r.addLearnings(); err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: proposing learnings:", err)
	}
}

func (r *Session) addLearnings() error {
	if r.movedError() != nil {
		return nil // a resume proposes them
	}
	found := fixedFailures(r.state)
	// Agents were told to note deviations there. wavex's own notes of failures would repeat those above.
	context, err := notes.ReadContext(cmp.Or(r.config.Track, string(r.config.Loop)))
	if err != nil {
		return err
	}
	context = r.opts.Redactor.String(context) // before it is shortened
	found = append(found, userdata.Deviations(context, notes.Mark, r.config.Run, time.Now().UTC())...)
	if len(found) == 0 {
		return nil
	}
	pending := r.config.Loop.Path(loop.Learnings)
	known := []userdata.Learning{}
	for _, path := range append(userdata.LearningFiles(r.config.Dir), pending) {
		list, _, err := userdata.LoadLearnings(path)
		if err != nil {
			return err
		}
		known = append(known, list...)
	}
	found = slices.DeleteFunc(found, func(l userdata.Learning) bool {
		return slices.ContainsFunc(known, func(k userdata.Learning) bool { return k.ID == l.ID })
	})
	for i := range found {
		found[i] = r.opts.Redactor.Value(found[i]).(userdata.Learning)
	}
	if len(found) == 0 {
		return nil
	}
	if err := userdata.AddLearnings(pending, found, userdata.Proposed); err != nil {
		return err
	}
	if r.opts.Notices {
		fmt.Fprintf(r.opts.Err, "learnt: %s proposed; see and keep them with: wavex learn\n",
			report.Plural(len(found), "thing", "things"))
	}
	return nil
}

// fixedFailures returns the failures of tasks that passed with a panel's advice.
func fixedFailures(s *scheduler.State) (out []userdata.Learning) {
	for i := range s.Tasks {
		t, p := &s.Tasks[i], &s.Plan.Tasks[i]
		if t.Last == nil || t.Last.Outcome != runner.Done || t.Advice == nil || len(t.History) == 0 {
			continue
		}
		l := userdata.Learning{Kind: userdata.Failure, Context: p.Subject, Failure: t.History[len(t.History)-1],
			Cause: t.Advice.Analysis, Prevention: t.Advice.Fix, Signature: t.LastSignature, Run: s.Config.Run, Task: p.ID,
			Time: s.LastEvent()}
		for _, f := range p.Files {
			l.Files = append(l.Files, f.Path)
		}
		if strings.TrimSpace(l.Failure) != "" && strings.TrimSpace(l.Prevention) != "" {
			out = append(out, l.Clean())
		}
	}
	return out
}
