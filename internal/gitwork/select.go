package gitwork

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/textfmt"
)

// This file decides which tasks of a wave are integrated: those that delete no more than they
// declared, do not conflict with the others, and leave the checks of the combined tree green.
// verifier.go runs the checks and bisect.go finds the culprits. Nothing is moved or recorded here.

// selectCandidates decides which candidates are integrated. The commit consists of good, in that order.
func (m *Manager) selectCandidates(ctx context.Context, rec *savedIntegration,
	cs []candidate) (in Integration, good []candidate, err error) {
	earlier := m.integratedCommits()
	for _, c := range cs {
		if err := m.loadDiff(ctx, rec.From, earlier, &c); err != nil {
			return in, nil, err
		}
		if gone := m.undeclaredDeletions(c); len(gone) > 0 && m.tooManyDeletions(ctx, rec.From, len(gone)) {
			in.Withheld = append(in.Withheld, Culprit{c.Task, UndeclaredDeletions,
				textfmt.OneLine(fmt.Sprintf("it deletes %d files that it did not declare: %s", len(gone), firstFew(gone)), 400),
				textfmt.ExcerptOf("Deleted by commit "+shortID(c.commit)+" without being declared:\n"+strings.Join(gone, "\n"),
					maxDetail)})
			continue
		}
		good = append(good, c)
	}
	if good, err = m.dropConflicting(ctx, rec.From, good, &in); err != nil {
		return in, nil, err
	}
	m.checks.Forget("")
	v := &verifier{m: m, rec: rec, earlier: m.earlierInWave(rec.Wave, good), planChecks: m.planChecks}
	v.run = v.runInWorktree
	for len(good) > 0 {
		red, err := v.verify(ctx, good, nil)
		if err != nil {
			return in, nil, err
		}
		if red == nil {
			break
		}
		culprits, err := v.findCulprits(ctx, good, red)
		if err != nil {
			return in, nil, err
		}
		var rest []candidate
		for i, c := range good {
			if at := slices.IndexFunc(culprits, func(b culpritSet) bool { return b.task == i }); at >= 0 {
				in.Culprits = append(in.Culprits, v.newCulprit(good, culprits[at]))
			} else {
				rest = append(rest, c)
			}
		}
		if len(rest) == len(good) {
			break // only checks that were red before; they are noted
		}
		good = rest
	}
	top, made, at, c, err := m.applySigned(ctx, rec.From, good)
	if err == nil && c != nil {
		err = fmt.Errorf("task %s conflicts without the others: %s", good[at].Task, firstFew(c.paths))
	}
	in.Commit, in.Commits = top, made
	in.Note = strings.Join(v.notes, "; ")
	return in, good, err
}

// loadDiff finds the changes of a candidate. It finds none if the commit is integrated already or
// the candidate has no commit.
func (m *Manager) loadDiff(ctx context.Context, tip string, earlier map[string]string, c *candidate) error {
	if c.commit == "" {
		return nil
	}
	old := earlier[c.Task] == c.commit || c.commit == tip
	if !old && c.facts.parents != tip {
		var err error
		if old, err = m.isIntegrated(ctx, c.facts, tip); err != nil {
			return err
		}
	}
	if old {
		c.commit = ""
		return nil
	}
	if diff, known := m.diffs.LoadAndDelete(c.commit); known {
		c.diff = diff.([]change)
		return nil
	}
	var err error
	c.diff, err = m.g.changesOf(ctx, c.facts)
	return err
}

// tooManyDeletions reports whether a person must confirm n deletions.
func (m *Manager) tooManyDeletions(ctx context.Context, tip string, n int) bool {
	if n > m.opts.MaxDeletes {
		return true
	}
	if n < 4 {
		return false
	}
	out, err := m.g.output(ctx, "ls-tree", "-r", "--name-only", "-z", tip)
	return err != nil || 2*n > len(splitNUL(out))
}

// dropConflicting leaves out candidates that conflict with the tip or with an earlier candidate.
func (m *Manager) dropConflicting(ctx context.Context, tip string, cs []candidate,
	in *Integration) (good []candidate, err error) {
	top := tip
	for _, c := range cs {
		if c.commit == "" {
			good = append(good, c)
			continue
		}
		next, clash, err := m.cherryPick(ctx, top, c)
		if err != nil {
			return nil, err
		}
		if clash == nil {
			top, good = next, append(good, c)
			continue
		}
		var with []string
		for _, g := range good {
			if slices.ContainsFunc(g.diff, func(d change) bool { return slices.Contains(clash.paths, d.path) }) {
				with = append(with, g.Task)
			}
		}
		reason := "conflicts in " + firstFew(clash.paths)
		if len(with) > 0 {
			reason += " with what is integrated of " + strings.Join(with, ", ")
		}
		in.Culprits = append(in.Culprits, Culprit{c.Task, Conflict, textfmt.OneLine(reason, 400),
			textfmt.ExcerptOf(strings.Join([]string{reason, clash.messages, earlierWorkHint(c)}, "\n"), maxDetail)})
	}
	return good, nil
}

// earlierWorkHint returns the text that tells the next attempt which commit holds the work of this one.
func earlierWorkHint(c candidate) string {
	return fmt.Sprintf(
		"Your directory now has the integrated work of the others, without yours. Yours is kept as commit %s: see git show %s.",
		c.commit, shortID(c.commit))
}

// maxDetail is the maximum length of a Detail, in bytes.
const maxDetail = 4 << 10
