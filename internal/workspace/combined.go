package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/verify"
)

// This file checks combined trees in the worktree of integrations, which belongs to no task. It
// does not decide what follows from a failure.

// jury runs the checks on sets of candidates during one integration.
type jury struct {
	m      *Manager
	rec    *record
	fixed  []Done                     // tasks of the same wave that are integrated already
	common []duty                     // the plan's own
	seen   map[string]verify.Evidence // by commit and check
	notes  []string
	why    map[string][]failure // failures of red sets, by set of tasks
}

// duty is a check and the directory it runs in. Several tasks may have the same duty.
type duty struct {
	dir   string
	check plan.Check
	of    string // the first task that has it; "": the plan
	not   bool   // the check must fail
}

func (d duty) key() string {
	b, _ := json.Marshal(d.check) // strings and a number: no error is possible
	return fmt.Sprint(d.dir, "\x00", d.not, string(b))
}

// Expect sets the conditions that combined trees must meet beyond the checks of their tasks:
// criteria must pass, mustNot must fail. A condition that was already false before the wave is not
// blamed on any task.
func (m *Manager) Expect(criteria, mustNot []plan.Check) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected = nil
	for _, c := range m.relativeChecks(m.o.Project, criteria) {
		m.expected = append(m.expected, duty{dir: m.o.Project, check: c})
	}
	for _, c := range m.relativeChecks(m.o.Project, mustNot) {
		m.expected = append(m.expected, duty{dir: m.o.Project, check: c, not: true})
	}
}

// failure is a duty that is not met.
type failure struct {
	duty
	evidence verify.Evidence
}

// duties returns the checks of the plan and the tasks, each once.
func (j *jury) duties(cs []candidate) []duty {
	var out []duty
	have := map[string]bool{}
	once := func(u duty) {
		if !have[u.key()] {
			have[u.key()] = true
			out = append(out, u)
		}
	}
	add := func(d Done) {
		for _, c := range j.m.relativeChecks(d.Dir, d.Checks) {
			once(duty{dir: d.Dir, check: c, of: d.Task})
		}
	}
	for _, d := range j.fixed {
		d.Checks = slices.DeleteFunc(slices.Clone(d.Checks), func(c plan.Check) bool { return c.NoRecheck })
		add(d)
	}
	for _, c := range cs {
		add(c.Done)
	}
	for _, u := range j.common {
		once(u)
	}
	return out
}

// verdict runs the checks of a set on its combined tree: those of only, or all if only is nil. It
// runs a red check a second time before it counts. It returns the failures that remain.
func (j *jury) verdict(ctx context.Context, cs []candidate, only []failure) ([]failure, error) {
	commit, _, at, clash, err := j.m.stack(ctx, j.rec.From, cs)
	if err != nil {
		return nil, err
	}
	if clash != nil {
		return []failure{{evidence: verify.Evidence{Check: "merge", Reason: "task " + cs[at].Task + " conflicts in " +
			some(clash.paths)}}}, nil
	}
	duties := j.duties(cs)
	if only != nil {
		duties = slices.DeleteFunc(duties, func(d duty) bool {
			return !slices.ContainsFunc(only, func(f failure) bool { return f.key() == d.key() })
		})
	}
	red, err := j.run(ctx, commit, duties)
	if err != nil || len(red) == 0 {
		return nil, err
	}
	for _, f := range red {
		delete(j.seen, commit+f.key())
	}
	var again []duty
	for _, f := range red {
		again = append(again, f.duty)
	}
	still, err := j.run(ctx, commit, again)
	if err != nil {
		return nil, err
	}
	for _, f := range red {
		if !slices.ContainsFunc(still, func(s failure) bool { return s.key() == f.key() }) {
			j.note(fmt.Sprintf("flaky: %s failed (%s) and passed when run again", verify.OneLine(f.evidence.Check, 100),
				f.evidence.Reason))
		}
	}
	if len(still) == 0 {
		return nil, nil
	}
	return still, nil
}

func (j *jury) note(s string) {
	if !slices.Contains(j.notes, s) {
		j.notes = append(j.notes, s)
	}
}

// run returns the duties that fail on a commit. It reuses evidence that it already has.
func (j *jury) run(ctx context.Context, commit string, duties []duty) (red []failure, err error) {
	var t *tree
	for _, d := range duties {
		e, known := j.seen[commit+d.key()]
		if !known {
			if t == nil {
				if t, err = j.m.bench(ctx, commit); err != nil {
					return nil, err
				}
			}
			if e, err = j.obtain(ctx, t, d); err != nil {
				return nil, err
			}
			j.seen[commit+d.key()] = e
		}
		if !e.Passed {
			red = append(red, failure{d, e})
		}
	}
	return red, nil
}

func (j *jury) obtain(ctx context.Context, t *tree, d duty) (verify.Evidence, error) {
	dir, err := j.m.mapped(t, d.dir)
	if err != nil {
		return verify.Evidence{}, err
	}
	slot := setupSlot
	add := j.m.slots.env(slot)
	defer j.m.slots.empty(slot)
	add[proc.RunVar] = j.m.o.Run
	add[proc.AttemptVar] = fmt.Sprintf("%s/wavex-wave-%d/1", j.m.o.Run, j.rec.Wave)
	got, err := verify.Run(ctx, dir, proc.EnvironPass(j.m.o.Env, j.m.o.Pass, add), []plan.Check{d.check})
	if err != nil {
		return verify.Evidence{}, err
	}
	e := got[0]
	if d.not {
		e.Check, e.Reason = "must not be: "+e.Check, ""
		if e.Passed = !e.Passed; !e.Passed {
			e.Reason = "it is true"
		}
	}
	return e, nil
}

// bench resets the worktree of integrations to a commit.
func (m *Manager) bench(ctx context.Context, commit string) (*tree, error) {
	m.mu.Lock()
	held := m.held(0)
	if held == nil {
		held = &tree{}
		m.s.Trees = append(m.s.Trees, held)
	}
	t := *held
	m.mu.Unlock()
	err := m.reset(ctx, &t, "", commit)
	m.mu.Lock()
	defer m.mu.Unlock()
	*held = t
	if serr := m.save(false); err == nil {
		err = serr
	}
	return &t, err
}

// blame returns the candidates to leave out, given the failures with all of them. A check of an
// integrated task that fails without any candidate is not blamed on a candidate.
func (j *jury) blame(ctx context.Context, cs []candidate, red []failure) ([]blamed, error) {
	var before []duty
	for _, d := range j.duties(nil) {
		if slices.ContainsFunc(red, func(f failure) bool { return f.key() == d.key() }) {
			before = append(before, d)
		}
	}
	old, err := j.run(ctx, j.rec.From, before)
	if err != nil {
		return nil, err
	}
	for _, f := range old {
		if f.of == "" {
			red = slices.DeleteFunc(slices.Clone(red), func(g failure) bool { return g.key() == f.key() })
			continue // it is not true yet: no candidate broke it
		}
		j.note(fmt.Sprintf("%s is red on what was integrated before, too", verify.OneLine(f.evidence.Check, 100)))
		own := func(g failure) bool { return g.key() == f.key() }
		red = slices.DeleteFunc(slices.Clone(red), own)
	}
	if len(red) == 0 {
		return nil, nil
	}
	j.why = map[string][]failure{}
	all := make([]int, len(cs))
	for i := range all {
		all[i] = i
	}
	j.why[setKey(all)] = red
	return blame(len(cs), func(set []int) (bool, error) {
		fails, err := j.verdict(ctx, pickOf(cs, set), red)
		if len(fails) > 0 {
			j.why[setKey(set)] = fails
		}
		return err == nil && len(fails) == 0, err
	})
}

func pickOf(cs []candidate, set []int) []candidate {
	out := make([]candidate, len(set))
	for i, x := range set {
		out[i] = cs[x]
	}
	return out
}

// accuse returns the Culprit for a candidate that is left out.
func (j *jury) accuse(cs []candidate, b blamed) Culprit {
	c := cs[b.task]
	var others []string
	for _, i := range b.core {
		if i != b.task {
			others = append(others, cs[i].Task)
		}
	}
	fails := j.why[setKey(b.core)]
	whose := "check failed"
	if len(fails) > 0 && fails[0].check != (plan.Check{}) {
		switch of := fails[0].of; {
		case fails[0].not:
			whose = "what must not be is true"
		case of == "":
			whose = "a criterion of the plan failed"
		case of != c.Task:
			whose = "a check of " + of + " failed"
		}
	}
	reason, detail := describe(whose+" on the combined tree", fails)
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
		detail += earlierWork(c)
	}
	return Culprit{c.Task, Red, verify.OneLine(reason, 400), verify.Shorten(detail, detailMax)}
}

// describe returns the first failure in one line and all failures as a text.
func describe(what string, red []failure) (reason, detail string) {
	var b strings.Builder
	for i, f := range red {
		if i == 0 {
			reason = fmt.Sprintf("%s: %s: %s", what, verify.OneLine(f.evidence.Check, 200), f.evidence.Reason)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n%s\n\n", f.evidence.Check, f.evidence.Output, f.evidence.Reason)
	}
	return reason, b.String()
}
