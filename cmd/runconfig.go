package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/run"
	"wavex/internal/runlog"
)

// resolveConfig builds the run's configuration from flags, the plan, settings and defaults, in this order. old is
// the configuration of the resumed run; its values stay unless a flag replaces them.
func resolveConfig(o *runOptions, p *plan.Plan, dir string, old *event.Config) (event.Config, error) {
	c := flagDefaults()
	if old != nil {
		c = *old
	} else {
		c.Run = runlog.NewID(time.Now())
		c.Limits, c.BudgetGiven = forecast.Limits(p), p.Budget.USD != nil
		c.Parallel = p.Parallel
		c.Schedule = cmp.Or(event.Schedule(p.Schedule), c.Schedule)
		c.Isolation = cmp.Or(event.Isolation(p.Isolation), c.Isolation)
		c.Deliver = cmp.Or(p.Deliver, c.Deliver)
		if n := p.Defaults.MaxRetries; n != nil {
			c.MaxRetries = *n
		}
	}
	c.Dir, c.Loop, c.Only = dir, loop.In(dir), o.only
	c.Params, c.Lists = p.ParamValues(), p.Lists()
	planned := planSettings(p)
	given := func(flag string) bool { // a resumed run keeps its values, and a plan counts before settings files
		return o.forced(flag) || old == nil && planned[flag] == "" && o.given(flag)
	}
	o.apply(&c, func(s setting) bool {
		return given(s.name) && (s.name != "isolation" || old == nil) // a run keeps its working directory mode
	})
	if c.Workers.Engine == "" { // else the fleet completes the configuration
		c.Parallel = cmp.Or(c.Parallel, defaultParallel(c.Agent))
	} else if o.fleet == nil {
		return c, run.ErrNoFleet
	}
	set(old == nil, &c.Gates, o.gates)
	set(o.forced("max-retries"), &c.ForceRetries, true)
	for _, name := range policyFields {
		if o.forced("policy-"+name) && !slices.Contains(c.Policy.Force, name) {
			c.Policy.Force = append(c.Policy.Force, name)
		}
	}
	set(given("retry-session") || c.RetrySession == "", &c.ForceSession, o.forced("retry-session"))
	set(old == nil || given("judge"), &c.Judge, o.judge == "on" || o.judge == "auto" && agent.NeedsAgent(p))
	set(given("budget"), &c.BudgetGiven, true)
	if old == nil && c.Agent == agent.Rehearsal {
		rehearsed := "branch" // the user's own branch gets rehearsed work on demand only
		if o.scenario == "" {
			if c.MadeUp, _ = (agent.Agent{Name: c.Agent}).MakesUp(p); c.MadeUp {
				rehearsed = "none"
			}
		}
		set(p.Deliver == "" && !given("deliver"), &c.Deliver, rehearsed)
	}
	setMissing(&c, &o.want)
	var noPrices, noAllowed error
	if old == nil && !o.forced("policy-allow") {
		noAllowed = addAllowed(&c.Policy)
	}
	if given("prices") && c.Prices != "" {
		c.Prices, noPrices = filepath.Abs(c.Prices)
	}
	return c, cmp.Or(o.checkIncrements(old), checkPatterns(o, p, c.Policy), resolveTrack(o, p, &c),
		openCaches(o, &c.Sandbox), noPrices, noAllowed)
}

// setMissing sets what journals of older versions lack.
func setMissing(c, from *event.Config) {
	c.RetrySession, c.Review = cmp.Or(c.RetrySession, from.RetrySession), cmp.Or(c.Review, from.Review)
	c.ReviewRounds = cmp.Or(c.ReviewRounds, from.ReviewRounds)
	c.Sandbox.Mode = cmp.Or(c.Sandbox.Mode, from.Sandbox.Mode)
}

// openCaches makes the caches of a strict wall absolute. They must be directories: a wall cannot open a missing one.
// Without a strict wall those of files are ignored.
func openCaches(o *runOptions, s *event.Sandbox) error {
	if s.Mode != event.SandboxStrict && o.forced("sandbox-cache") {
		return usage("%s is for --sandbox strict; leave it out, or add that", o.named("sandbox-cache"))
	}
	set(s.Mode != event.SandboxStrict, &s.Caches, nil)
	caches := make([]string, len(s.Caches))
	for i, dir := range s.Caches {
		if rest, is := strings.CutPrefix(dir, "~/"); is {
			home, err := os.UserHomeDir()
			if err != nil {
				return usage("%s: %s: %s", o.named("sandbox-cache"), dir, err)
			}
			dir = filepath.Join(home, rest)
		}
		abs, err := filepath.Abs(dir)
		if info, serr := os.Stat(abs); dir == "" || err != nil || serr != nil || !info.IsDir() {
			return usage("%s: %s is no directory; make it first", o.named("sandbox-cache"), dir)
		}
		caches[i] = abs
	}
	if s.Caches = caches; len(caches) == 0 {
		s.Caches = nil
	}
	return nil
}

// policyFields are the fields of a policy. Each has a flag.
var policyFields = []string{"edits", "deny", "repeat", "ask", "ask-timeout", "allow"}

// patternFlags are the flags that take patterns of calls.
var patternFlags = []string{"policy-deny", "policy-ask", "policy-allow"}

// checkPattern returns an error if a text is not a pattern of calls.
func checkPattern(text string) error {
	if _, err := policy.ParsePattern(text); err != nil {
		return fmt.Errorf("%s is no pattern of calls: %w", strconv.Quote(text), err)
	}
	return nil
}

// checkPatterns refuses invalid patterns of calls, and patterns that deny a check of a task that they apply to.
func checkPatterns(o *runOptions, p *plan.Plan, c event.Policy) error {
	for i, list := range [][]string{c.Deny, c.Ask, c.Allow} {
		for _, pattern := range list {
			if err := checkPattern(pattern); err != nil {
				return usage("%s: %s", o.named(patternFlags[i]), err)
			}
		}
	}
	for i := range p.Tasks {
		if len(c.Deny) == 0 || p.Settings(i).PolicyDeny != nil && !slices.Contains(c.Force, "deny") {
			continue
		}
		for _, check := range p.Tasks[i].Verify {
			if pattern := policy.Denied(c.Deny, check.Run); pattern != "" {
				return usage("%s: %s denies the check %s of task %s; change one of the two", o.named("policy-deny"),
					strconv.Quote(pattern), strconv.Quote(check.Run), p.Tasks[i].ID)
			}
		}
	}
	return nil
}

// apply sets the fields of c to the values of the settings that take accepts.
func (o *runOptions) apply(c *event.Config, take func(setting) bool) {
	to := runOptions{want: *c}
	for _, row := range to.table(&plan.Plan{}) {
		i := slices.IndexFunc(o.rows, func(s setting) bool { return s.name == row.name })
		if i < 0 || !take(o.rows[i]) {
			continue
		}
		switch to := row.value.(type) {
		case *value:
			to.copy(o.rows[i].value.(*value))
		case pflag.SliceValue:
			_ = to.Replace(o.rows[i].value.(pflag.SliceValue).GetSlice()) // valid there, so valid here
		}
	}
	*c = to.want
}

// checkIncrements refuses +N for a limit that the resumed run does not have: N alone may be less than it has spent.
func (o *runOptions) checkIncrements(old *event.Config) error {
	if old == nil {
		return nil
	}
	l := old.Limits
	for _, limit := range []struct {
		flag string
		none bool
	}{
		{"budget", l.NoUSD}, {"max-iterations", l.NoIterations}, {"max-tokens", l.Tokens == 0},
	} {
		text := o.flags.Lookup(limit.flag).Value.String()
		if limit.none && o.forced(limit.flag) && strings.HasPrefix(text, "+") {
			return usage("%s: the run has no limit that %s could raise; give the limit itself", o.named(limit.flag), text)
		}
	}
	return nil
}

// forgetUsed makes flags that were not given of those that a session has used up: it has added limits of +N to
// the run's, and has warned of --isolation.
func (o *runOptions) forgetUsed() {
	o.flags.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.String(), "+") || f.Name == "isolation" {
			f.Changed = false
			delete(o.origins, f.Name)
		}
	})
}

// planSettings returns the values that a plan itself gives to settings, as text.
func planSettings(p *plan.Plan) map[string]string {
	v := map[string]string{}
	for _, row := range (&runOptions{}).table(p) {
		if row.plan != nil {
			v[row.name] = planText(row.plan)
		}
	}
	return v
}

// set replaces a setting if replace is true.
func set[T any](replace bool, to *T, value T) {
	if replace {
		*to = value
	}
}

// usageIf returns a usage error if bad is true.
func usageIf(bad bool, format string, args ...any) error {
	if bad {
		return usage(format, args...)
	}
	return nil
}

// loadPrices returns the embedded price table overlaid with the one that --prices named. A resume
// reads that file again; "" means the embedded table alone.
func loadPrices(path string) (budget.Prices, error) {
	if path == "" {
		return budget.LoadPrices(nil)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return budget.Prices{}, usage("there is no price table %s; --prices names another one, or \"\" for none", path)
	}
	if err != nil {
		return budget.Prices{}, usage("reading the price table: %s", err)
	}
	p, err := budget.LoadPrices(data)
	var at *budget.PriceError
	if errors.As(err, &at) {
		return p, usage("%s:%s; nothing was started", path, at)
	}
	return p, err
}
