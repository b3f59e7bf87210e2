package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// This file verifies criteria. It runs the check of a criterion that has one. For the others it
// asks a judge, and looks up the judge's quotes. A criterion without evidence stays an assumption.

// criterionCase is a criterion and the data for its verification.
type criterionCase struct {
	event.Criterion
	check    *plan.Check
	dir      string // of the check, relative to the project
	forJudge bool   // a judge may be asked
	measured bool   // the plan calls the output of its command a measurement
	held     bool   // it held before the work
}

// PrepareVerification returns a function that verifies the criteria of e and makes its rechecks. The
// loop's goroutine calls verification; the returned function runs in another goroutine.
func (h *Coordinator) PrepareVerification(s *scheduler.State,
	e event.CriteriaStarted) func(ctx context.Context, more func() bool) (scheduler.Verification, error) {
	items := make([]criterionCase, 0, len(s.Assessment.Criteria))
	for _, k := range s.Assessment.Criteria {
		if (e.Wave > 0 || len(e.Earlier) > 0 || e.Before) && !slices.Contains(e.Only, k.ID) {
			continue
		}
		it := criterionCase{Criterion: event.Criterion{ID: k.ID, Task: k.Task, Text: k.Text,
			Verification: event.Assumption,
			Round:        e.Round}}
		if c := s.Condition(k.ID); c != nil {
			it.check, it.measured = c.Check, c.Verification == event.Measurement
			it.forJudge = c.Check == nil && c.Verification != event.Assumption
		}
		if i, ok := s.Index(k.Task); ok && k.Task != "" {
			it.dir = s.Plan.Tasks[i].SubDir()
		}
		it.held = s.HeldBefore(&k)
		items = append(items, it)
	}
	files := h.withoutOutputs(taskFiles(s, 0))
	request := cmp.Or(s.Plan.Request, s.Plan.Name)
	list, earlier := dueRechecks(s, e), earlierTasks(s, e)
	var work []taskWork
	if e.Wave == 0 && len(e.Earlier) == 0 && !e.Before {
		work = workInOrder(s)
	}
	var mustNot []plan.Condition
	if e.Before {
		mustNot = s.Plan.MustNot
	}
	return func(ctx context.Context, more func() bool) (out scheduler.Verification, err error) {
		err = h.withIntegrated(ctx, true, func(dir string) {
			if len(earlier) > 0 {
				lookAtFiles(dir, earlier, &out)
			}
			changed := h.changes(work)
			known := &check.Memory{} // each check runs once
			for i := range items {
				if items[i].check != nil {
					h.runCriterion(ctx, dir, &items[i], known)
					h.control(ctx, dir, &items[i], &changed)
				}
			}
			// An interruption ends the whole verification.
			out.Violated, _ = h.criteriaPlace(dir, dir, e.Round).Violated(ctx, mustNot)
			out.Rechecks = (&rechecks{h, dir, e.Round, known, more}).run(ctx, list)
			if e.Judge {
				h.judgeCriteria(ctx, e, &out, dir, request, files, items)
			}
		})
		if err == nil {
			err = context.Cause(ctx)
		}
		for i := range items {
			out.Criteria = append(out.Criteria, items[i].Criterion)
		}
		return out, err
	}
}

// runCriterion runs a criterion's own check.
func (h *Coordinator) runCriterion(ctx context.Context, dir string, it *criterionCase, known *check.Memory) {
	at := filepath.Join(dir, filepath.FromSlash(it.dir))
	place := h.criteriaPlace(at, dir, it.Round)
	place.Memory, place.Files = known, func() string { return at }
	got, err := place.Run(ctx, []plan.Check{*it.check})
	if err != nil {
		return // interrupted, and so is the whole verification
	}
	e := got[0]
	it.Met, it.Flaky = e.Passed, e.Flaky
	it.Check, it.ExitCode, it.Duration = e.Check, e.ExitCode, e.Duration
	it.Evidence, it.Digest = strings.TrimSpace(e.Output+"\n"+e.Reason), e.Digest
	switch {
	case it.check.Run == "":
		it.Verification = event.Observation
		if sum := fileDigest(at, it.check.File); sum != "" {
			it.Files = map[string]string{it.check.File: sum}
		}
	case it.measured:
		it.Verification = event.Measurement
	default:
		it.Verification = event.ExecutionOutput
	}
}

// criteriaPlace returns where the checks of a verification run: in dir, which is in the working tree root.
func (h *Coordinator) criteriaPlace(dir, root string, round int) check.Place {
	return h.opts.Workspace.Place(dir, root, fmt.Sprintf("criteria/%d", round), nil)
}

// judgeCriteria asks a judge about the remaining criteria. A ruling that a criterion is met counts only
// with a quote that is in the file that the ruling names.
func (h *Coordinator) judgeCriteria(ctx context.Context, e event.CriteriaStarted, out *scheduler.Verification,
	dir, request string, files []string, items []criterionCase) {
	at := map[string]*criterionCase{}
	c := counsel.JudgeCase{Round: e.Round, Request: request, Files: files, Cap: e.Cap, Dir: dir,
		LogDir: filepath.Join(h.callsDir(fmt.Sprintf("criteria-%d", e.Round)), "judge")}
	for i := range items {
		if items[i].forJudge {
			at[items[i].ID] = &items[i]
			c.Statements = append(c.Statements, counsel.Statement{ID: items[i].ID, Text: items[i].Text})
		}
	}
	if len(c.Statements) == 0 {
		return
	}
	var more []string
	c.Diff, more, _ = h.workDiff(ctx, 0, files) // on an error the judge can still read the files
	c.Files = mergeSorted(files, more)
	if h.opts.Agent.IsRehearsal() {
		c.Rehearse = rehearsalJudgements(dir, c)
	}
	rulings, cost, why := h.panel.Judge(ctx, c)
	out.Cost = cost
	for _, it := range at {
		it.Evidence = "the judge did not rule on it"
		if why != "" {
			it.Evidence = "the judge gave no answer: " + why
		}
	}
	for _, r := range rulings {
		it := at[r.ID]
		it.Evidence = r.Reason
		switch {
		case r.Answer == "no":
			it.Verification = event.Observation
		case r.Answer != "yes":
		case !h.isWorkFile(r.File):
			it.Evidence = "the judge holds that it is met, but what it quotes is no part of the work: " + r.Reason
		case containsQuote(dir, r.File, r.Quote):
			it.Met, it.Verification = true, event.Observation
			it.Evidence = fmt.Sprintf("%s:%d: %s\n%s", r.File, r.Line, r.Quote, r.Reason)
			it.Files = map[string]string{r.File: fileDigest(dir, r.File)}
		default:
			it.Evidence = "the judge holds that it is met, but what it quotes is not there: " + r.Reason
		}
		sum := sha256.Sum256([]byte(it.Evidence))
		it.Digest = hex.EncodeToString(sum[:])
	}
}

// isWorkFile reports whether a file can be evidence of the work. The plan is not, since it states the
// request; neither is wavex's own folder.
func (h *Coordinator) isWorkFile(file string) bool {
	at := filepath.Clean(filepath.FromSlash(file))
	if first, _, _ := strings.Cut(filepath.ToSlash(at), "/"); first == ".git" || loop.IsName(first) {
		return false
	}
	rel, err := filepath.Rel(h.opts.Config.Dir, h.opts.Plan.AbsPath())
	return err != nil || rel != at
}

// rehearsalJudgements returns the answer of the rehearsal agent if a scenario has no other: it quotes the first
// line of the first file of the work. Without a file it cannot tell.
func rehearsalJudgements(dir string, c counsel.JudgeCase) json.RawMessage {
	file, quote, at := firstLine(dir, c.Files)
	var rulings []counsel.Judgement
	for _, s := range c.Statements {
		r := counsel.Judgement{ID: s.ID, Answer: "yes", Reason: "a rehearsal: nobody has judged it", File: file, Line: at,
			Quote: quote}
		if quote == "" {
			r.Answer = "unknown"
		}
		rulings = append(rulings, r)
	}
	return agent.AnswerBlock(map[string]any{"rulings": rulings})
}

// firstLine returns the first line with text in some files, and its place.
func firstLine(dir string, files []string) (file, line string, at int) {
	for _, f := range files {
		at := 0
		for line := range strings.Lines(string(readStart(dir, f, maxDiff))) {
			at++
			if line = strings.TrimSpace(line); len(line) > 3 {
				return f, line, at
			}
		}
	}
	return "", "", 0
}
