package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/runner"
	"wavex/scheduler"
)

// This file wires reviews: what reviewers are shown, and where what they said is kept.

// reviews are the run's reviewers and judge.
type reviews struct {
	*Session
	panel *counsel.Panel
	human Judge // who judges findings; nil: nobody does
}

func (r *Session) reviewDir(n int) string {
	return filepath.Join(r.config.Loop, "runs", r.config.Run, "reviews", fmt.Sprint(n))
}

// review prepares a review. It is called by the loop's goroutine; what it returns is not.
func (v *reviews) review(s *scheduler.State, e scheduler.ReviewStarted) func(ctx context.Context) counsel.Review {
	c := counsel.ReviewCase{Mode: e.Mode, Name: fmt.Sprintf("round-%d", e.Round), Request: cmp.Or(s.Plan.Request, s.Plan.Name),
		Cap: e.Cap, Dir: v.config.Dir, LogDir: v.reviewDir(e.N)}
	if e.Mode == counsel.Light {
		c.Name = fmt.Sprintf("wave-%d", e.Wave)
	}
	for i := range s.Tasks {
		t := &s.Plan.Tasks[i]
		if e.Mode == counsel.Light && s.Tasks[i].Wave != e.Wave || s.Tasks[i].Status != scheduler.Completed {
			continue
		}
		c.Tasks = append(c.Tasks, t.ID+" "+cmp.Or(t.Subject, t.Command))
		c.Aspects = append(c.Aspects, t.Aspects...)
	}
	c.Files = touched(s, e.Wave)
	for _, k := range s.Criteria {
		c.Criteria = append(c.Criteria, standing(k))
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	if e.Mode == counsel.Thorough {
		for i := range s.Reviews {
			for _, f := range s.Reviews[i].Review.Findings {
				if s.Reviews[i].Mode == counsel.Light && f.Severity == counsel.Blocker {
					c.Candidates = append(c.Candidates, f)
				}
			}
		}
		if last := s.Thorough(); last != nil {
			c.Mended = last.Review.Blockers()
		}
	}
	panel := *v.panel
	panel.Caller = again{panel.Caller, v.Session, s.CutShort()}
	return func(ctx context.Context) counsel.Review {
		var out counsel.Review
		err := v.standing(ctx, e.Mode == counsel.Thorough, func(dir string) {
			c.Dir = dir
			var known []string
			c.Diff, known = v.diff(ctx, e.Wave, c.Files)
			c.Files = merged(c.Files, known)
			out = panel.Review(ctx, c)
		})
		if err != nil {
			return counsel.Review{Error: err.Error()}
		}
		if e.Mode == counsel.Thorough && v.human != nil && out.Error == "" {
			v.human.Judge(ctx, &panel, c, &out)
		}
		return out
	}
}

// standing is where a criterion stands, in a line.
func standing(k scheduler.Criterion) string {
	how := "not met"
	if k.Met {
		how = "met"
	}
	return fmt.Sprintf("%s: %s (%s, by %s)", k.ID, k.Text, how, k.Verification)
}

// touched are the files that completed tasks declared to write or changed, of one wave or
// (0) of all, as paths of the project.
func touched(s *scheduler.State, wave int) []string {
	var out []string
	for i := range s.Tasks {
		if wave > 0 && s.Tasks[i].Wave != wave || s.Tasks[i].Status != scheduler.Completed {
			continue
		}
		p := &s.Plan.Tasks[i]
		dir := ""
		if p.Settings != nil {
			dir = p.Settings.Dir
		}
		for _, f := range p.Files {
			if f.Writes() {
				out = append(out, filepath.ToSlash(filepath.Join(dir, f.Path)))
			}
		}
		if last := s.Tasks[i].Last; last != nil {
			for _, f := range last.Touched {
				if filepath.IsLocal(filepath.FromSlash(f)) {
					out = append(out, filepath.ToSlash(filepath.Join(dir, f)))
				}
			}
		}
	}
	return merged(out, nil)
}

func merged(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// standing calls use with a directory that holds the work as it stands together: the
// project's own, or, where tasks work in trees, one of the integrated tree. A light review
// reads no files and does not wait for it.
func (r *Session) standing(ctx context.Context, files bool, use func(dir string)) error {
	if r.trees == nil || !files {
		use(r.config.Dir)
		return nil
	}
	return r.trees.space.Standing(ctx, func(dir string) error {
		use(dir)
		return nil
	})
}

// asked stops what is left of an earlier session's review or verification, as with a
// panel, and prices what it had cost by then.
func (v *reviews) asked(ctx context.Context, name string, limit budget.USD) budget.USD {
	// This session has started nothing yet, so whatever carries the run's mark is old.
	_, _ = proc.Sweep(ctx, v.config.Run) // what cannot be ended is found again after each attempt
	dir := filepath.Join(v.config.Loop, "runs", v.config.Run, name)
	if n, ok := strings.CutPrefix(name, "review-"); ok {
		dir = filepath.Join(v.config.Loop, "runs", v.config.Run, "reviews", n)
	}
	cost, known := counsel.Recall(dir, v.opts.Prices)
	if !known {
		return max(cost, limit)
	}
	return cost
}

// again gives the answers of a review that was cut short to the same questions, which are
// paid for already; other questions are asked.
type again struct {
	counsel.Caller
	of  *Session
	cut []int
}

// Ask looks for the answer first.
func (a again) Ask(ctx context.Context, q runner.Question) runner.Answer {
	for _, n := range a.cut {
		old := filepath.Join(a.of.reviewDir(n), filepath.Base(q.LogDir))
		prompt, err := os.ReadFile(filepath.Join(old, "prompt.md"))
		if err != nil || string(prompt) != string(a.of.opts.Secrets.Bytes([]byte(q.Prompt))) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(old, "result.json"))
		var answer runner.Answer
		if err != nil || json.Unmarshal(data, &answer) != nil || answer.Outcome != runner.Done {
			continue
		}
		answer.Cost = 0 // the session that asked has paid
		return answer
	}
	return a.Caller.Ask(ctx, q)
}

// diff is what the run, or one of its waves, changed, and the files it names. Where it
// cannot be told from before (no git), the files are shown as they are.
func (r *Session) diff(ctx context.Context, wave int, files []string) (text string, changed []string) {
	if r.trees != nil && r.trees.space.Mode() == scheduler.Isolated {
		from, to, err := r.trees.space.Span(ctx, wave)
		if err != nil || from == to {
			return "", nil
		}
		out := since{dir: r.config.Dir, base: from}.diff(ctx, to)
		return out, inDiff(out)
	}
	if wave > 0 && len(files) > 0 {
		return r.since(r.config.Dir).changes(ctx, files), nil
	}
	return r.whole(ctx, files)
}

// whole is everything that differs from when the run began, without wavex's own files.
func (r *Session) whole(ctx context.Context, files []string) (text string, changed []string) {
	dir := r.config.Dir
	before := r.since(dir)
	if !inCheckout(ctx, dir) {
		return before.changes(ctx, files), nil
	}
	own := []string{"--", ".", ":(exclude).loop", ":(exclude).loop.*"}
	if rel, err := filepath.Rel(dir, planfile.Path(r.plan)); err == nil && filepath.IsLocal(rel) {
		own = append(own, ":(exclude)"+filepath.ToSlash(rel))
	}
	out := before.diff(ctx, append([]string{"--relative"}, own...)...)
	changed = inDiff(out)
	var b strings.Builder
	b.WriteString(out)
	const most = 50
	news := strings.FieldsFunc(git(ctx, dir, before.env, append([]string{"ls-files", "-z", "--others", "--exclude-standard"}, own...)...),
		func(r rune) bool { return r == 0 })
	news = slices.DeleteFunc(news, func(f string) bool { return slices.Contains(before.large, f) && !slices.Contains(files, f) })
	for k, f := range news {
		if k == most || b.Len() > 2*maxChanges {
			fmt.Fprintf(&b, "and further new files\n")
			break
		}
		changed = append(changed, f)
		fmt.Fprintf(&b, "new file %s\n%s\n", f, head(filepath.Join(dir, filepath.FromSlash(f))))
	}
	// What tasks wrote where git looks away (an ignored folder) is their work all the same.
	unseen := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(changed, f) })
	b.WriteString(before.changes(ctx, unseen[:min(len(unseen), most)]))
	return b.String(), changed
}

// inDiff lists the files that a diff of git changes.
func inDiff(diff string) []string {
	var out []string
	for line := range strings.Lines(diff) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "diff --git "); ok {
			if _, name, ok := strings.Cut(rest, " b/"); ok {
				out = append(out, name)
			}
		}
	}
	return out
}

// baseCommit is the commit that a project directory is at, or "".
func baseCommit(ctx context.Context, dir string) string {
	return strings.TrimSpace(git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
}
