package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/verify"
)

// This file decides which tasks of a wave are integrated: those that delete no more than they
// declared, do not conflict with the others, and leave the checks of the combined tree green.
// combined.go runs the checks and blame.go finds the culprits. Nothing is moved or recorded here.

// combine decides which candidates are integrated. The commit consists of good, in that order.
func (m *Manager) combine(ctx context.Context, rec *record, cs []candidate) (in Integration, good []candidate,
	err error) {
	earlier := m.integrated()
	for _, c := range cs {
		if err := m.examine(ctx, rec.From, earlier, &c); err != nil {
			return in, nil, err
		}
		if gone := m.undeclared(c); len(gone) > 0 && m.tooMany(ctx, rec.From, len(gone)) {
			in.Held = append(in.Held, Culprit{c.Task, Deletes,
				verify.OneLine(fmt.Sprintf("it deletes %d files that it did not declare: %s", len(gone), some(gone)), 400),
				verify.Shorten("Deleted by commit "+short(c.commit)+" without being declared:\n"+strings.Join(gone, "\n"),
					detailMax)})
			continue
		}
		good = append(good, c)
	}
	if good, err = m.compatible(ctx, rec.From, good, &in); err != nil {
		return in, nil, err
	}
	j := &jury{m: m, rec: rec, fixed: m.checkedBefore(rec.Wave, good), common: m.expected,
		seen: map[string]verify.Evidence{}}
	for len(good) > 0 {
		red, err := j.verdict(ctx, good, nil)
		if err != nil {
			return in, nil, err
		}
		if red == nil {
			break
		}
		guilty, err := j.blame(ctx, good, red)
		if err != nil {
			return in, nil, err
		}
		var rest []candidate
		for i, c := range good {
			if at := slices.IndexFunc(guilty, func(b blamed) bool { return b.task == i }); at >= 0 {
				in.Culprits = append(in.Culprits, j.accuse(good, guilty[at]))
			} else {
				rest = append(rest, c)
			}
		}
		if len(rest) == len(good) {
			break // only checks that were red before; they are noted
		}
		good = rest
	}
	top, made, at, c, err := m.stack(ctx, rec.From, good)
	if err == nil && c != nil {
		err = fmt.Errorf("task %s conflicts without the others: %s", good[at].Task, some(c.paths))
	}
	in.Commit, in.Commits = top, made
	in.Note = strings.Join(j.notes, "; ")
	return in, good, err
}

// examine finds the changes of a candidate. It finds none if the commit is integrated already or
// the candidate has no commit.
func (m *Manager) examine(ctx context.Context, tip string, earlier map[string]string, c *candidate) error {
	if c.commit == "" {
		return nil
	}
	old := earlier[c.Task] == c.commit
	if !old {
		var err error
		if old, err = m.isAncestor(ctx, c.commit, tip); err != nil {
			return err
		}
	}
	if old {
		c.commit = ""
		return nil
	}
	var err error
	c.diff, err = changes(ctx, m.g, c.commit+"^", c.commit)
	return err
}

// tooMany reports whether a person must confirm n deletions.
func (m *Manager) tooMany(ctx context.Context, tip string, n int) bool {
	if n > m.o.MaxDeletes {
		return true
	}
	if n < 4 {
		return false
	}
	out, err := m.g.out(ctx, "ls-tree", "-r", "--name-only", "-z", tip)
	return err != nil || 2*n > len(fields(out))
}

// compatible leaves out candidates that conflict with the tip or with an earlier candidate.
func (m *Manager) compatible(ctx context.Context, tip string, cs []candidate, in *Integration) (good []candidate,
	err error) {
	top := tip
	for _, c := range cs {
		if c.commit == "" {
			good = append(good, c)
			continue
		}
		next, clash, err := m.pick(ctx, top, c)
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
		reason := "conflicts in " + some(clash.paths)
		if len(with) > 0 {
			reason += " with what is integrated of " + strings.Join(with, ", ")
		}
		in.Culprits = append(in.Culprits, Culprit{c.Task, Conflict, verify.OneLine(reason, 400),
			verify.Shorten(strings.Join([]string{reason, clash.said, earlierWork(c)}, "\n"), detailMax)})
	}
	return good, nil
}

// earlierWork returns the text that tells the next attempt which commit holds the work of this one.
func earlierWork(c candidate) string {
	return fmt.Sprintf("Your directory now has the integrated work of the others, without yours. Yours is kept as commit %s: see git show %s.",
		c.commit, short(c.commit))
}

// detailMax is the maximum length of a Detail, in bytes.
const detailMax = 4 << 10
