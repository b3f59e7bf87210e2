package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/learn"
	"wavex/internal/report"
	"wavex/runner"
	"wavex/scheduler"
)

type learnOptions struct {
	accept []string
	drop   []string
	user   bool
	output string
}

func newLearn(std Stdio) *cobra.Command {
	var o learnOptions
	c := &cobra.Command{
		Use:   "learn",
		Short: "See what runs have taught, and keep it",
		Long: `learn shows what the last runs propose to remember: failures that a panel's
advice turned around, and deviations that .loop/_context.md records. Nothing is
kept unless you accept it; what is kept is recalled for later requests.

Accepted learnings go to .wavex/learnings.jsonl of the project, to be kept with
its code, or with --user to your own data folder, for every project.

Exit status: 0 shown or kept, 2 there is no such proposal.`,
		Example: "  wavex learn\n  wavex learn --accept all\n  wavex learn --accept 1f3a9c02 --user",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runLearn(o, std) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.accept, "accept", nil, "ids of proposals to keep, or all")
	f.StringSliceVar(&o.drop, "drop", nil, "ids of proposals to forget, or all")
	f.BoolVar(&o.user, "user", false, "keep them in the user's data folder")
	outputFlag(c, &o.output)
	return c
}

func runLearn(o learnOptions, std Stdio) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	pending := filepath.Join(dir, ".loop", learn.PendingName)
	list, _, err := learn.Load(pending)
	if err != nil {
		return &blockedError{err}
	}
	keep, err := named(list, o.accept, "--accept")
	if err != nil {
		return err
	}
	drop, err := named(list, o.drop, "--drop")
	if err != nil {
		return err
	}
	if len(keep)+len(drop) == 0 {
		return tellLearnings(list, o, std)
	}
	to := filepath.Join(projectData(dir), learn.FileName)
	if o.user {
		root := userData()
		if root == "" {
			return usage("there is no home for a data folder; name one in %s", dataVar)
		}
		to = filepath.Join(root, learn.FileName)
	}
	// Kept first: what is in both files for a moment is learnt twice at worst, never lost.
	if err := learn.Add(to, keep); err != nil {
		return &blockedError{err}
	}
	rest := slices.DeleteFunc(list, func(l learn.Learning) bool { return has(keep, l) || has(drop, l) })
	if err := learn.Replace(pending, rest); err != nil {
		return &blockedError{err}
	}
	fmt.Fprintf(std.Err, "%d kept in %s, %d forgotten, %d left\n", len(keep), to, len(drop), len(rest))
	return nil
}

func tellLearnings(list []learn.Learning, o learnOptions, std Stdio) error {
	if o.output == "json" {
		if list == nil {
			list = []learn.Learning{}
		}
		return json.NewEncoder(std.Out).Encode(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(std.Err, "nothing is proposed")
	}
	for _, l := range list {
		fmt.Fprintf(std.Out, "%s  %s\n", l.ID, l)
	}
	return nil
}

// named finds proposals by their ids; "all" is every one.
func named(list []learn.Learning, ids []string, flag string) ([]learn.Learning, error) {
	if slices.Contains(ids, "all") {
		return slices.Clone(list), nil
	}
	var out []learn.Learning
	for _, id := range ids {
		i := slices.IndexFunc(list, func(l learn.Learning) bool { return l.ID == id })
		if i < 0 {
			return nil, usage("%s: there is no proposal %s; see them with: wavex learn", flag, id)
		}
		out = append(out, list[i])
	}
	return out, nil
}

func has(list []learn.Learning, l learn.Learning) bool {
	return slices.ContainsFunc(list, func(o learn.Learning) bool { return o.ID == l.ID })
}

// propose writes down what the run that has just ended could teach. It changes no exit
// code: a run is not worse because nothing can be learnt from it.
func (r *session) propose() {
	if err := r.learnt(); err != nil {
		fmt.Fprintln(r.std.Err, "wavex: proposing learnings:", err)
	}
}

func (r *session) learnt() error {
	var events []scheduler.Event
	var err error
	// Only what went wrong first teaches anything; a long journal is not read for nothing.
	if slices.ContainsFunc(r.state.Tasks, func(t scheduler.Task) bool { return t.Tries > 1 }) {
		if events, err = readEvents(r.config.Loop); err != nil {
			return err
		}
	}
	found := learn.FromTurns(turns(events, r.config.Run, r.state))
	context, err := os.ReadFile(filepath.Join(r.config.Loop, "_context.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found = append(found, learn.Deviations(string(context), r.config.Run, time.Now().UTC())...)
	if len(found) == 0 {
		return nil
	}
	pending := filepath.Join(r.config.Loop, learn.PendingName)
	known := []learn.Learning{}
	for _, path := range append(learningFiles(r.config.Dir), pending) {
		list, _, err := learn.Load(path)
		if err != nil {
			return err
		}
		known = append(known, list...)
	}
	found = slices.DeleteFunc(found, func(l learn.Learning) bool { return has(known, l) })
	for i := range found {
		found[i] = r.secrets.Value(found[i]).(learn.Learning)
	}
	if len(found) == 0 {
		return nil
	}
	if r.opts.autoLearn {
		pending = filepath.Join(projectData(r.config.Dir), learn.FileName)
	}
	if err := learn.Add(pending, found); err != nil {
		return err
	}
	if r.opts.output == "text" {
		what := "proposed; see and keep them with: wavex learn"
		if r.opts.autoLearn {
			what = "kept in " + pending
		}
		fmt.Fprintf(r.std.Err, "learnt: %s %s\n", report.Plural(len(found), "thing", "things"), what)
	}
	return nil
}

// turns finds the retries of a run that passed with a panel's advice.
func turns(events []scheduler.Event, run string, s *scheduler.State) []learn.Turn {
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
	var out []learn.Turn
	ours := false
	for _, e := range events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			ours = b.Config.Run == run
		case scheduler.CounselEnded:
			of(b.Task).cause, of(b.Task).fix = b.Verdict.Analysis, b.Verdict.Fix
		case scheduler.AttemptStarted:
			of(b.Task).advised = b.Advised
		case scheduler.AttemptEnded:
			t := of(b.Task)
			switch {
			case b.Result.Outcome.Stuck():
				t.failed = b.Result
			case ours && b.Result.Outcome == runner.Done && t.advised && t.failed.Reason != "":
				turn := learn.Turn{Run: run, Task: b.Task, Failure: t.failed.Reason, Signature: t.failed.Signature, Cause: t.cause, Fix: t.fix, Time: e.Time}
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
