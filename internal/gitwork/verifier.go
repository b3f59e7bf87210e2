package gitwork

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file checks combined trees in worktrees that no task uses meanwhile. It does not decide what
// follows from a failure.

// verifier runs the checks on sets of candidates during one integration.
type verifier struct {
	m          *Manager
	rec        *savedIntegration
	earlier    []VerifiedTask  // tasks of the same wave that are integrated already
	planChecks []requiredCheck // the plan's own
	run        checkRunner
	notes      []string
	failures   map[string][]failedCheck // failures of red sets, by set of tasks
}

// checkRunner runs a check in a worktree with a tree of git; at makes the worktree.
type checkRunner func(ctx context.Context, tree string, at func() (*tree, error),
	d requiredCheck) (check.Evidence, error)

// requiredCheck is a check and the directory it runs in. Several tasks may have the same duty.
type requiredCheck struct {
	dir      string
	check    plan.Check
	task     string // the first task that has it; "": the plan
	mustFail bool   // the check must fail
}

// id returns the requirement without its task.
func (d requiredCheck) id() requiredCheck {
	d.task = ""
	return d
}

// result returns the result of the requirement on a tree.
func (d requiredCheck) result(m *Manager, tree string) *check.Result {
	return m.checks.Of(filesOf(tree, d.dir)+map[bool]string{true: " must not be"}[d.mustFail], d.check)
}

// SetPlanChecks sets the conditions that combined trees must meet beyond the checks of their tasks:
// criteria must pass, mustNot must fail. A condition that was already false before the wave is not
// blamed on any task.
func (m *Manager) SetPlanChecks(criteria, mustNot []plan.Check) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planChecks = nil
	for _, c := range m.relativeChecks(m.opts.Project, criteria) {
		m.planChecks = append(m.planChecks, requiredCheck{dir: m.opts.Project, check: c})
	}
	for _, c := range m.relativeChecks(m.opts.Project, mustNot) {
		m.planChecks = append(m.planChecks, requiredCheck{dir: m.opts.Project, check: c, mustFail: true})
	}
}

// failedCheck is a duty that is not met.
type failedCheck struct {
	requiredCheck
	evidence check.Evidence
}

// requiredChecks returns the checks of the plan and the tasks, each once.
func (j *verifier) requiredChecks(cs []candidate) []requiredCheck {
	var out []requiredCheck
	have := map[requiredCheck]bool{}
	once := func(u requiredCheck) {
		if !have[u.id()] {
			have[u.id()] = true
			out = append(out, u)
		}
	}
	add := func(d VerifiedTask) {
		for _, c := range j.m.relativeChecks(d.Dir, d.Checks) {
			once(requiredCheck{dir: d.Dir, check: c, task: d.Task})
		}
	}
	for _, d := range j.earlier {
		d.Checks = slices.DeleteFunc(slices.Clone(d.Checks), func(c plan.Check) bool { return c.Once })
		add(d)
	}
	for _, c := range cs {
		add(c.VerifiedTask)
	}
	for _, u := range j.planChecks {
		once(u)
	}
	return out
}

// verify returns the checks that are red on the combined tree of a set: those of only, which the search for culprits
// asks about, or all if only is nil.
func (j *verifier) verify(ctx context.Context, cs []candidate, only []failedCheck) ([]failedCheck, error) {
	commit, _, at, clash, err := j.m.applyCandidates(ctx, j.rec.From, cs)
	if err != nil {
		return nil, err
	}
	if clash != nil {
		return []failedCheck{{evidence: check.Evidence{Check: "merge", Reason: "task " + cs[at].Task + " conflicts in " +
			firstFew(clash.paths)}}}, nil
	}
	duties := j.requiredChecks(cs)
	if only != nil {
		duties = slices.DeleteFunc(duties, func(d requiredCheck) bool {
			return !slices.ContainsFunc(only, func(f failedCheck) bool { return f.id() == d.id() })
		})
	}
	return j.runChecks(ctx, commit, duties)
}

func (j *verifier) addNote(s string) {
	if !slices.Contains(j.notes, s) {
		j.notes = append(j.notes, s)
	}
}

// runChecks returns the duties that are red on a commit. It runs a check only if it does not know the result on the
// commit's tree, and a red one again after the others.
func (j *verifier) runChecks(ctx context.Context, commit string,
	duties []requiredCheck) (red []failedCheck, err error) {
	if len(duties) == 0 {
		return nil, nil
	}
	id, err := j.m.treeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	seen := make([]check.Evidence, len(duties))
	for reds := range 2 { // a failure counts when it is seen twice
		done := func() error { return nil }
		at := sync.OnceValues(func() (t *tree, err error) {
			t, release, err := j.m.integrationTree(ctx, commit)
			if err == nil {
				done = release
			}
			return t, err
		})
		for i, d := range duties {
			if seen[i], err = j.runCheck(ctx, id, at, d, reds+1); err != nil {
				break
			}
		}
		if err = errors.Join(err, done()); err != nil {
			return nil, err
		}
	}
	for i, d := range duties {
		if !seen[i].Passed {
			red = append(red, failedCheck{d, seen[i]})
		}
	}
	return red, nil
}

// runCheck returns the result of a check on a tree, and runs it if that is not known after a number of red runs.
func (j *verifier) runCheck(ctx context.Context, id string, at func() (*tree, error), d requiredCheck,
	reds int) (e check.Evidence, err error) {
	ran := false
	e = d.result(j.m, id).After(reds, func() (check.Evidence, bool) {
		ran = true
		e, err = j.run(ctx, id, at, d)
		return e, err == nil
	})
	if ran && e.Flaky {
		j.addNote(fmt.Sprintf("flaky: %s failed (%s) and passed when run again", textfmt.OneLine(e.Check, 100), e.Reason))
	}
	return e, err
}

// runInWorktree is the checkRunner of an integration.
func (j *verifier) runInWorktree(ctx context.Context, _ string, at func() (*tree, error),
	d requiredCheck) (check.Evidence, error) {
	t, err := at()
	if err != nil {
		return check.Evidence{}, err
	}
	dir, err := j.m.treeDir(t, d.dir)
	if err != nil {
		return check.Evidence{}, err
	}
	env, leave := j.m.SlotEnv(firstSetupSlot)
	defer leave()
	place := j.m.Place(dir, j.m.treePathOf(t), fmt.Sprintf("wavex-wave-%d/1", j.rec.Wave), env)
	if d.mustFail {
		violated, err := place.Violated(ctx, []plan.Condition{{Text: "it is true", Check: &d.check}})
		return check.Evidence{Check: "must not be: " + d.check.Describe(), Passed: len(violated) == 0,
			Reason: strings.Join(violated, "")}, err
	}
	place.Once = true // runChecks runs it again, in a fresh tree
	got, err := place.Run(ctx, []plan.Check{d.check})
	return got[0], err
}

// Place returns a place of checks. See check.Places.At.
func (m *Manager) Place(dir, root, name string, vars map[string]string) check.Place {
	return m.checks.At(dir, root, name, vars)
}

// integrationTree resets an idle worktree to a commit. The caller must call done, and until then no task has it.
func (m *Manager) integrationTree(ctx context.Context, commit string) (of *tree, done func() error, err error) {
	m.mu.Lock()
	held, err := m.awaitIdle(ctx, "")
	if err != nil {
		m.mu.Unlock()
		return nil, nil, err
	}
	t := *held
	m.mu.Unlock()
	if t.Task != "" {
		err = m.takeOver(ctx, held, &t, "")
	}
	if err == nil {
		err = m.resetTree(ctx, &t, "", commit)
	}
	note := func(inUse bool) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.endMaking(held)
		t.inUse, t.settled = inUse, held.settled
		*held = t
		m.freed.Broadcast()
		return m.save()
	}
	done = func() error { return note(false) }
	if err == nil {
		err = note(true)
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return &t, done, nil
}

// findCulprits returns the candidates to leave out, given the failures with all of them. A check of an
// integrated task that is red without any candidate is not blamed on a candidate; a flaky one is.
func (j *verifier) findCulprits(ctx context.Context, cs []candidate, red []failedCheck) ([]culpritSet, error) {
	var before []requiredCheck
	for _, d := range j.requiredChecks(nil) {
		if slices.ContainsFunc(red, func(f failedCheck) bool { return f.id() == d.id() }) {
			before = append(before, d)
		}
	}
	old, err := j.runChecks(ctx, j.rec.From, before)
	if err != nil {
		return nil, err
	}
	for _, f := range old {
		if f.task == "" {
			red = slices.DeleteFunc(slices.Clone(red), func(g failedCheck) bool { return g.id() == f.id() })
			continue // it is not true yet: no candidate broke it
		}
		j.addNote(fmt.Sprintf("%s is red on what was integrated before, too", textfmt.OneLine(f.evidence.Check, 100)))
		own := func(g failedCheck) bool { return g.id() == f.id() }
		red = slices.DeleteFunc(slices.Clone(red), own)
	}
	if len(red) == 0 {
		return nil, nil
	}
	j.failures = map[string][]failedCheck{}
	all := make([]int, len(cs))
	for i := range all {
		all[i] = i
	}
	j.failures[setKey(all)] = red
	return bisect(len(cs), func(set []int) (bool, error) {
		fails, err := j.verify(ctx, subset(cs, set), red)
		if len(fails) > 0 {
			j.failures[setKey(set)] = fails
		}
		return err == nil && len(fails) == 0, err
	})
}

func subset(cs []candidate, set []int) []candidate {
	out := make([]candidate, len(set))
	for i, x := range set {
		out[i] = cs[x]
	}
	return out
}

// newCulprit returns the Culprit for a candidate that is left out.
func (j *verifier) newCulprit(cs []candidate, b culpritSet) Culprit {
	c := cs[b.task]
	var others []string
	for _, i := range b.core {
		if i != b.task {
			others = append(others, cs[i].Task)
		}
	}
	fails := j.failures[setKey(b.core)]
	whose := "check failed"
	if len(fails) > 0 && fails[0].check != (plan.Check{}) {
		switch of := fails[0].task; {
		case fails[0].mustFail:
			whose = "what must not be is true"
		case of == "":
			whose = "a criterion of the plan failed"
		case of != c.Task:
			whose = "a check of " + of + " failed"
		}
	}
	reason, detail := describeFailures(whose+" on the combined tree", fails)
	switch {
	case whose != "check failed" && len(others) == 0: // its own work breaks a check of another task
	case len(others) > 0:
		reason += "; together with " + strings.Join(others, ", ")
	case c.commit == "":
		reason += "; it passed in the task's own directory, so it needs something that git does not hold"
	default:
		reason += "; with its commit alone on top of what is integrated: is something it needs not in git?"
	}
	if c.commit != "" {
		detail += earlierWorkHint(c)
	}
	return Culprit{c.Task, CheckFailed, textfmt.OneLine(reason, 400), textfmt.ExcerptOf(detail, maxDetail)}
}

// describeFailures returns the first failure in one line and all failures as a text.
func describeFailures(what string, red []failedCheck) (reason, detail string) {
	var b strings.Builder
	for i, f := range red {
		if i == 0 {
			reason = fmt.Sprintf("%s: %s: %s", what, textfmt.OneLine(f.evidence.Check, 200), f.evidence.Reason)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n%s\n\n", f.evidence.Check, f.evidence.Output, f.evidence.Reason)
	}
	return reason, b.String()
}
