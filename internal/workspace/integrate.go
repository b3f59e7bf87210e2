package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/verify"
)

// This file puts a wave together, and decides what of it stays. How trees are merged
// is merge.go's, how they are checked combined.go's, who is to blame blame.go's.

// Integrate puts the commits of tasks on the tip, in the order given, checks the whole,
// and leaves out who spoils it. Called again with the same tasks and commits it returns what it
// returned before, also when it was cut off at any moment. In shared mode there is nothing
// to put together. The error says what could not be done; the call can be made again.
func (m *Manager) Integrate(ctx context.Context, wave int, done []Done) (Integration, error) {
	m.integrating.Lock()
	defer m.integrating.Unlock()
	done = slices.Clone(done)
	for i := range done {
		if done[i].Dir == "" {
			done[i].Dir = m.o.Project
		}
	}
	if m.s.Mode != Worktree {
		var in Integration
		for _, d := range done {
			in.Integrated = append(in.Integrated, d.Task)
		}
		return in, nil
	}
	cs, key, err := m.candidates(ctx, wave, done)
	if err != nil {
		return Integration{}, err
	}
	if old := m.recorded(key); old != nil {
		return *old, errors.Join(m.catchUp(ctx), m.free(ctx, old.Integrated))
	}
	rec := record{Key: key, Wave: wave, Tasks: map[string]string{}}
	if rec.From, err = m.tip(ctx); err != nil {
		return Integration{}, err
	}
	in, good, err := m.combine(ctx, &rec, cs)
	if err != nil {
		return Integration{}, err
	}
	for _, c := range good {
		in.Integrated = append(in.Integrated, c.Task)
		rec.Tasks[c.Task] = c.commit
		rec.Checks = append(rec.Checks, c.Done)
	}
	rec.Result = in
	// The commit is reachable, then it is on record, then it is the tip.
	if err := m.g.setRefs(ctx, waveRef(m.o.Run, key), in.Commit); err != nil {
		return Integration{}, err
	}
	m.mu.Lock()
	m.s.Waves = append(m.s.Waves, rec)
	if err = m.save(true); err != nil {
		m.s.Waves = m.s.Waves[:len(m.s.Waves)-1]
	}
	m.mu.Unlock()
	if err != nil {
		return Integration{}, err
	}
	if err := m.catchUp(ctx); err != nil {
		return Integration{}, err
	}
	return in, m.free(ctx, in.Integrated)
}

// candidates finds the work of the tasks, and the key of this integration.
func (m *Manager) candidates(ctx context.Context, wave int, done []Done) ([]candidate, string, error) {
	h := sha256.New()
	fmt.Fprintln(h, wave)
	var cs []candidate
	for _, d := range done {
		id, err := m.g.resolve(ctx, taskRef(m.o.Run, d.Task))
		if err != nil {
			return nil, "", err
		}
		text, err := json.Marshal(d)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintln(h, id, string(text))
		cs = append(cs, candidate{Done: d, commit: id})
	}
	return cs, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// recorded is what an integration made that is done already.
func (m *Manager) recorded(key string) *Integration {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.s.Waves {
		if m.s.Waves[i].Key == key {
			return &m.s.Waves[i].Result
		}
	}
	return nil
}

// catchUp brings tip and branch to the last record.
func (m *Manager) catchUp(ctx context.Context) error {
	m.mu.Lock()
	commit := m.s.Base
	if n := len(m.s.Waves); n > 0 {
		commit = m.s.Waves[n-1].Result.Commit
	}
	m.mu.Unlock()
	now, err := m.g.resolve(ctx, tipRef(m.o.Run))
	if err != nil {
		return err
	}
	if now != commit {
		if err := m.g.setRefs(ctx, tipRef(m.o.Run), commit); err != nil {
			return err
		}
	}
	if commit == m.s.Base {
		return nil
	}
	_, err = m.moveBranch(ctx, commit)
	return err
}

// moveBranch brings the branch wavex/RUN to a commit, unless somebody works on it: then
// it says so.
func (m *Manager) moveBranch(ctx context.Context, commit string) (why string, err error) {
	ref := runBranch(m.o.Run)
	now, err := m.g.resolve(ctx, ref)
	if err != nil || now == commit {
		return "", err
	}
	if now != "" {
		if ok, err := m.isAncestor(ctx, now, commit); err != nil {
			return "", err
		} else if !ok {
			return branchName(ref) + " has commits of somebody else", nil
		}
		out, err := m.g.out(ctx, "worktree", "list", "--porcelain")
		if err != nil {
			return "", err
		}
		if slices.Contains(lines(out), "branch "+ref) {
			return branchName(ref) + " is checked out somewhere", nil
		}
	}
	return "", m.g.setRefs(ctx, ref, commit)
}

func (m *Manager) isAncestor(ctx context.Context, old, young string) (bool, error) {
	err := m.g.run(ctx, "merge-base", "--is-ancestor", old, young)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// combine decides which candidates stay. What it returns as good is, in order, what
// the commit consists of.
func (m *Manager) combine(ctx context.Context, rec *record, cs []candidate) (in Integration, good []candidate, err error) {
	var notes []string
	earlier := m.integrated()
	for _, c := range cs {
		if err := m.examine(ctx, rec.From, earlier, &c); err != nil {
			return in, nil, err
		}
		if gone := m.undeclared(c); len(gone) > 0 && m.tooMany(ctx, rec.From, len(gone)) {
			in.Held = append(in.Held, Culprit{c.Task, Deletes,
				verify.OneLine(fmt.Sprintf("it deletes %d files that it did not declare: %s", len(gone), some(gone)), 400),
				verify.Shorten("Deleted by commit "+short(c.commit)+" without being declared:\n"+strings.Join(gone, "\n"), detailMax)})
			continue
		}
		good = append(good, c)
	}
	if good, err = m.compatible(ctx, rec.From, good, &in); err != nil {
		return in, nil, err
	}
	j := &jury{m: m, rec: rec, fixed: m.checkedBefore(rec.Wave, good), common: m.expected, seen: map[string]verify.Evidence{}}
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
			break // only checks that were red before: noted
		}
		good = rest
	}
	top, made, at, c, err := m.stack(ctx, rec.From, good)
	if err == nil && c != nil {
		err = fmt.Errorf("task %s conflicts without the others: %s", good[at].Task, some(c.paths))
	}
	in.Commit, in.Commits = top, made
	in.Note = strings.Join(append(notes, j.notes...), "; ")
	return in, good, err
}

// examine finds what a candidate changes. A commit that is integrated, or that is none,
// changes nothing.
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

// integrated maps tasks to the commits of theirs that are integrated.
func (m *Manager) integrated() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	for _, w := range m.s.Waves {
		for task, id := range w.Tasks {
			if id != "" {
				out[task] = id
			}
		}
	}
	return out
}

// Integrated tells which tasks are integrated, also those that changed nothing.
func (m *Manager) Integrated() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for _, w := range m.s.Waves {
		for task := range w.Tasks {
			out[task] = true
		}
	}
	return out
}

// checkedBefore lists the tasks of the same wave that are integrated already: their
// checks are part of what must hold.
func (m *Manager) checkedBefore(wave int, now []candidate) []Done {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Done
	for _, w := range m.s.Waves {
		if w.Wave != wave {
			continue
		}
		for _, d := range w.Checks {
			again := func(c candidate) bool { return c.Task == d.Task }
			if !slices.ContainsFunc(now, again) {
				out = append(out, d)
			}
		}
	}
	return out
}

// tooMany tells whether so many deletions must be looked at by a person.
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

// compatible leaves out who conflicts with the tip or with candidates before.
func (m *Manager) compatible(ctx context.Context, tip string, cs []candidate, in *Integration) (good []candidate, err error) {
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

// earlierWork tells the next attempt where its work of before is.
func earlierWork(c candidate) string {
	return fmt.Sprintf("Your directory now has the integrated work of the others, without yours. Yours is kept as commit %s: see git show %s.",
		c.commit, short(c.commit))
}

// detailMax bounds a Detail, in bytes.
const detailMax = 4 << 10
