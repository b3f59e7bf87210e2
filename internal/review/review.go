package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/runner"
	"wavex/scheduler"
)

// This file prepares reviews: it makes the case for the reviewers, and chooses where their answers
// are stored.

func (h *Coordinator) reviewDir(n int) string { return h.callsDir(fmt.Sprintf("review-%d", n)) }

// callsDir returns the directory of the calls of a review, a verification or a pre-check.
func (h *Coordinator) callsDir(name string) string {
	return h.opts.Config.Loop.Calls(h.opts.Config.Run, name)
}

// PrepareReview returns a function that makes a review. The loop's goroutine calls review; the returned
// function runs in another goroutine.
func (h *Coordinator) PrepareReview(s *scheduler.State,
	e event.ReviewStarted) func(ctx context.Context) counsel.Review {
	c := counsel.ReviewCase{Mode: e.Mode, Name: fmt.Sprintf("round-%d", e.Round), Request: cmp.Or(s.Plan.Request,
		s.Plan.Name),
		Cap: e.Cap, Dir: h.opts.Config.Dir, LogDir: h.reviewDir(e.N)}
	if e.Mode == counsel.Light {
		c.Name = fmt.Sprintf("wave-%d", e.Wave)
	}
	for i := range s.Tasks {
		t := &s.Plan.Tasks[i]
		if e.Mode == counsel.Light && s.Tasks[i].Wave != e.Wave || s.Tasks[i].Status != event.Completed {
			continue
		}
		c.Tasks = append(c.Tasks, t.ID+" "+cmp.Or(t.Subject, t.Command))
		c.Doubts = append(c.Doubts, doubtsAbout(t, &s.Tasks[i])...)
		c.Aspects = append(c.Aspects, t.Aspects...)
	}
	c.Files = h.withoutOutputs(taskFiles(s, e.Wave))
	found := h.withoutOutputs(foundFiles(s))
	for _, k := range s.Assessment.Criteria {
		c.Criteria = append(c.Criteria, criterionStatus(k))
		c.Doubts = append(c.Doubts, doubtsAboutCriterion(k, e.Mode)...)
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	if e.Mode == counsel.Thorough {
		c.Candidates = claimedBlockers(s)
		c.Open = s.Assessment.OpenBlockers()
	}
	panel := *h.panel
	panel.Caller = cachedAnswers{panel.Caller, h, s.CutShort()}
	return func(ctx context.Context) counsel.Review {
		var out counsel.Review
		err := h.withIntegrated(ctx, e.Mode == counsel.Thorough, func(dir string) {
			c.Dir = dir
			var known []string
			var err error
			if c.Diff, known, err = h.workDiff(ctx, e.Wave, c.Files); err != nil {
				out.Error = "finding what was changed: " + err.Error() // unknown changes are not the same as no changes
				return
			}
			c.Files = mergeSorted(c.Files, known)
			if e.Mode == counsel.Thorough {
				c.Diff += foundText(dir, found, known)
			}
			reopen(c)
			out = panel.Review(ctx, c)
			if e.Mode == counsel.Thorough && h.opts.Judge != nil && out.Error == "" {
				h.opts.Judge(ctx, &out)
			}
			recordDigests(c, out.Findings)
		})
		if err != nil {
			return counsel.Review{Error: err.Error()}
		}
		return out
	}
}

// doubtsAbout says why the checks of a task do not show it, with the undeclared files on which their pass rests, as
// paths of the project.
func doubtsAbout(p *plan.Task, t *scheduler.Task) (out []counsel.Doubt) {
	last := t.Last
	if last == nil || p.Command != "" {
		return nil
	}
	for _, f := range last.Rests {
		why := cmp.Or(last.Doubt, "its checks pass only with this change, which it did not declare")
		out = append(out, counsel.Doubt{Task: p.ID, File: path.Join(p.SubDir(), f), Why: why})
	}
	if !t.Edited && last.Commit == "" {
		out = append(out, counsel.Doubt{Task: p.ID, Why: "nothing was changed: is the work there?"})
	}
	for _, c := range last.Checks {
		if c.Empty != "" {
			out = append(out, counsel.Doubt{Task: p.ID, Why: "no test ran: " + c.Empty})
		}
	}
	return out
}

// doubtsAboutCriterion has the changes that no task declares and on which a criterion rests. Light reviews look at
// tasks alone.
func doubtsAboutCriterion(k event.Criterion, mode counsel.Mode) (out []counsel.Doubt) {
	if !k.Met || mode == counsel.Light {
		return nil
	}
	why := cmp.Or(k.Doubt, "it holds only with this change, which no task declares")
	for _, f := range k.Rests {
		out = append(out, counsel.Doubt{Task: k.ID, File: f, Why: why})
	}
	if len(k.Rests) == 0 && k.Doubt != "" {
		out = append(out, counsel.Doubt{Task: k.ID, Why: k.Doubt})
	}
	return out
}

// claimedBlockers returns the blockers that light reviews claim.
func claimedBlockers(s *scheduler.State) (out []counsel.Finding) {
	for i := range s.Assessment.Reviews {
		for _, f := range s.Assessment.Reviews[i].Review.Findings {
			if s.Assessment.Reviews[i].Mode == counsel.Light && f.Severity == counsel.Blocker {
				out = append(out, f)
			}
		}
	}
	return out
}

// criterionStatus returns the state of a criterion in one line.
func criterionStatus(k event.Criterion) string {
	how := "not met"
	if k.Met {
		how = "met"
	}
	return fmt.Sprintf("%s: %s (%s, by %s)", k.ID, k.Text, how, k.Verification)
}

// taskFiles returns the files that completed tasks declared to write or changed, of one wave or (0)
// of all, as paths of the project.
func taskFiles(s *scheduler.State, wave int) []string {
	var out []string
	for i := range s.Tasks {
		if wave > 0 && s.Tasks[i].Wave != wave || s.Tasks[i].Status != event.Completed {
			continue
		}
		p := &s.Plan.Tasks[i]
		out = append(out, p.Writes()...)
		if last := s.Tasks[i].Last; last != nil {
			for _, f := range last.Surplus {
				if filepath.IsLocal(filepath.FromSlash(f)) {
					out = append(out, filepath.ToSlash(filepath.Join(p.SubDir(), f)))
				}
			}
		}
	}
	return mergeSorted(out, nil)
}

// foundFiles returns the declared files of completed tasks whose agents changed nothing, as paths of the project.
func foundFiles(s *scheduler.State) (out []string) {
	for i := range s.Tasks {
		p, last := &s.Plan.Tasks[i], s.Tasks[i].Last
		if s.Tasks[i].Status != event.Completed || p.Command != "" || last == nil || s.Tasks[i].Edited || last.Commit != "" {
			continue
		}
		out = append(out, p.Writes()...)
	}
	return mergeSorted(out, nil)
}

func mergeSorted(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// withIntegrated calls use with a directory that has the combined work: the project's own, or, if tasks
// work in trees, a checkout of the integrated tree. A light review reads no files, so it gets the
// project's directory without waiting.
func (h *Coordinator) withIntegrated(ctx context.Context, files bool, use func(dir string)) error {
	if !files {
		use(h.opts.Config.Dir)
		return nil
	}
	return h.opts.Workspace.WithIntegrated(ctx, func(dir string) error {
		use(dir)
		return nil
	})
}

// maxCached is the largest stored question or answer that is read, in bytes.
const maxCached = 64 << 20

// cachedAnswers is a Caller that reuses the answers of an interrupted review if the questions are the same,
// because they are paid for. It asks all other questions.
type cachedAnswers struct {
	counsel.Caller
	coordinator *Coordinator
	unfinished  []int
}

// Ask returns a stored answer if there is one.
func (a cachedAnswers) Ask(ctx context.Context, q runner.Question) runner.Answer {
	for _, n := range a.unfinished {
		old := filepath.Join(a.coordinator.reviewDir(n), filepath.Base(q.LogDir))
		prompt, err := safefile.Read(filepath.Join(old, loop.PromptFile), maxCached)
		if err != nil || string(prompt) != string(a.coordinator.opts.Redactor.Bytes([]byte(q.Prompt))) {
			continue
		}
		data, err := safefile.Read(filepath.Join(old, loop.ResultFile), maxCached)
		var answer runner.Answer
		if err != nil || json.Unmarshal(data, &answer) != nil || answer.Outcome != runner.Done {
			continue
		}
		answer.Cost = 0 // the earlier session has paid for it
		return answer
	}
	return a.Caller.Ask(ctx, q)
}

// workDiff returns the changes of the run, or of one wave, and the changed files. Without git it
// returns the files themselves. If it returns an error, it also returns the part that it could read.
func (h *Coordinator) workDiff(ctx context.Context, wave int,
	files []string) (text string, changed []string, err error) {
	if h.opts.Workspace.Mode() == event.Isolated {
		from, to := h.opts.Workspace.WaveRange(wave)
		if from == to {
			return "", nil, nil
		}
		span := baseline{dir: h.opts.Config.Dir, base: from}
		changed, err1 := span.changedFiles(ctx, to)
		text, err2 := span.diff(ctx, to)
		return text, changed, errors.Join(err1, err2)
	}
	before, done, err := h.baselineOf(ctx, h.opts.Config.Dir)
	if err != nil {
		return "", nil, err
	}
	defer done()
	// The changes of a command are not known.
	hasCommands := slices.ContainsFunc(h.opts.Plan.Tasks, func(t plan.Task) bool { return t.Command != "" })
	switch {
	case before.whole && (wave == 0 || len(files) == 0):
		return h.runDiff(ctx, before, files)
	case before.base != "" && wave == 0 && hasCommands:
		text, changed, err = h.runDiff(ctx, before, files)
	default:
		text, err = before.describeFiles(ctx, files)
	}
	if before.base != "" && text != "" {
		text = "Without a checkpoint from before the run: changes of these files may be the user's.\n" + text
	}
	return text, changed, err
}

// withoutOutputs returns the files that are not outputs of the run. An agent may have edited an output.
func (h *Coordinator) withoutOutputs(files []string) []string {
	own := h.opts.Config.OwnFiles()
	return slices.DeleteFunc(files, func(f string) bool { return slices.Contains(own, f) })
}

// maxNewFiles is the maximum number of files unknown to git that are shown.
const maxNewFiles = 50

// runDiff returns all changes since the run began, except to wavex's own files.
func (h *Coordinator) runDiff(ctx context.Context, before baseline,
	files []string) (text string, changed []string, err error) {
	own := []string{"--", ".", ":(exclude)" + loop.Name, ":(exclude)" + loop.Name + ".*"}
	for _, file := range h.opts.Config.OwnFiles(h.opts.Plan.AbsPath(), h.opts.Config.Track) {
		own = append(own, ":(exclude,literal)"+file)
	}
	changed, err1 := before.changedFiles(ctx, own...)
	diff, err2 := before.diff(ctx, own...)
	others, err3 := git(ctx, maxFileList, before.dir, before.env,
		append([]string{"ls-files", "-z", "--others", "--exclude-standard"}, own...)...)
	var b strings.Builder
	b.WriteString(diff)
	for k, f := range splitNUL(others) {
		if k == maxNewFiles {
			fmt.Fprintf(&b, "and further new files\n")
			break
		}
		if !appendNewFile(&b, f, fileText(before.dir, f)) {
			break
		}
		changed = append(changed, f)
	}
	// Files that tasks wrote in an ignored folder are also their work.
	unseen := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(changed, f) })
	rest, err4 := before.describeFiles(ctx, unseen[:min(len(unseen), maxNewFiles)])
	b.WriteString(rest)
	return b.String(), changed, errors.Join(err1, err2, err3, err4)
}
