package cmd

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/runlog"
)

// resolveConfig builds the run's configuration from flags, the plan and defaults, in this order. old is
// the configuration of the resumed run; its values stay unless a flag replaces them.
func resolveConfig(o runOptions, p *plan.Plan, dir string, old *event.Config) (event.Config, error) {
	c := initialConfig(p, old)
	c.Dir, c.Loop = dir, loop.In(dir)
	given := o.changed
	first := func(flag string) bool { return old == nil || given(flag) } // the flag's default counts for a new run

	set(first("agent"), &c.Agent, o.agent)
	set(given("parallel"), &c.Parallel, o.parallel)
	if c.Parallel == 0 {
		c.Parallel = defaultParallel(c.Agent)
	}
	c.Spares = spareCount(c.Agent, c.Parallel)
	set(old == nil, &c.Isolation, event.Isolation(o.isolation)) // a run keeps its working directory mode
	set(old == nil && p.Isolation != "" && !given("isolation"), &c.Isolation, event.Isolation(p.Isolation))
	set(given("no-verify"), &c.NoVerify, o.noVerify)
	set(first("deliver"), &c.Deliver, o.deliver)
	set(old == nil && p.Deliver != "" && !given("deliver"), &c.Deliver, p.Deliver)
	set(old == nil, &c.Gates, o.gates)
	set(first("mode"), &c.Mode, o.mode)
	set(given("stagger"), &c.Stagger, strings.TrimPrefix(o.stagger, "off"))
	set(given("schedule"), &c.Schedule, event.Schedule(o.schedule))
	set(given("max-retries"), &c.MaxRetries, o.maxRetries)
	set(given("max-retries"), &c.ForceRetries, true)
	if given("retry-session") || c.RetrySession == "" {
		c.RetrySession, c.ForceSession = o.retrySession, given("retry-session")
	}
	set(given("fail-fast"), &c.FailFast, o.failFast)
	set(first("precheck"), &c.Precheck, o.precheck == "on")
	set(given("counsel"), &c.Counsel, o.counsel == "on")
	set(given("counsel-block"), &c.Blocked, o.blocked)
	set(given("counsel-threshold"), &c.Threshold, o.threshold)
	set(given("counsel-holdout"), &c.Holdout, o.holdout)
	set(first("review") || c.Review == "", &c.Review, o.review)
	set(first("max-review-rounds") || c.ReviewRounds == 0, &c.ReviewRounds, o.reviewRounds)
	set(first("judge"), &c.Judge, o.judge == "on" || o.judge == "auto" && agent.NeedsAgent(p))
	set(first("accept-assumptions"), &c.AcceptAssumptions, o.accept)
	wait, badWait := time.ParseDuration(o.waitForReset)
	set(given("wait-for-reset"), &c.WaitForReset, wait)
	set(given("prices"), &c.Prices, o.prices)
	var noPrices error
	if given("prices") && o.prices != "" {
		c.Prices, noPrices = filepath.Abs(o.prices)
	}

	err := cmp.Or(
		usageIf(o.grace < 0, "--grace takes a duration like 10s, not %s", o.grace),
		usageIf(given("parallel") && o.parallel < 1, "-j takes a number from 1"),
		checkDelivery(o.deliver),
		resolveTrack(o, p, &c),
		usageIf(given("max-retries") && o.maxRetries < 0, "--max-retries takes a number from 0"),
		usageIf(given("counsel-threshold") && o.threshold < 1, "--counsel-threshold takes a number from 1"),
		usageIf(given("counsel-holdout") && (o.holdout < 0 || o.holdout > 1), "--counsel-holdout takes a share from 0 to 1"),
		usageIf(c.ReviewRounds < 1, "--max-review-rounds takes a number from 1"),
		usageIf(given("wait-for-reset") && (badWait != nil || wait < 0), "--wait-for-reset takes a duration like 6h, not %q",
			o.waitForReset),
		noPrices,
		resolveLimits(o, &c))
	return c, err
}

// initialConfig returns the configuration without the flags: that of the plan, or old unless it is nil.
func initialConfig(p *plan.Plan, old *event.Config) event.Config {
	if old != nil {
		return *old
	}
	c := event.DefaultConfig()
	c.Run = runlog.NewID(time.Now())
	c.Limits, c.BudgetGiven = forecast.Limits(p), p.Budget.USD != nil
	c.Parallel = p.Parallel
	set(p.Schedule != "", &c.Schedule, event.Schedule(p.Schedule))
	if n := p.Defaults.MaxRetries; n != nil {
		c.MaxRetries = *n
	}
	return c
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

func resolveLimits(o runOptions, c *event.Config) (err error) {
	l := &c.Limits
	if o.changed("budget") {
		c.BudgetGiven = true
		if l.NoUSD, err = setLimit(&l.USD, o.budget, "none unlimited", 0, budget.ParseUSD); err != nil {
			return usage("--budget: %s", err)
		}
	}
	if o.changed("wave-budget") {
		if _, err := setLimit(&l.Wave, o.waveBudget, "none unlimited", 1, budget.ParseUSD); err != nil {
			return usage("--wave-budget takes dollars, +N, or none, not %q", o.waveBudget)
		}
	}
	if o.changed("max-iterations") {
		if l.NoIterations, err = setLimit(&l.Iterations, o.iterations, "none unlimited 0", 1, strconv.Atoi); err != nil {
			return usage("--max-iterations takes a number, +N, or unlimited, not %q", o.iterations)
		}
	}
	if o.changed("max-tokens") {
		parse := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
		if _, err := setLimit(&l.Tokens, o.maxTokens, "none unlimited", 1, parse); err != nil {
			return usage("--max-tokens takes a number from 1, +N, or unlimited, not %q", o.maxTokens)
		}
	}
	set(o.changed("wall-clock"), &l.Wall, o.wallClock)
	return usageIf(o.changed("wall-clock") && l.Wall <= 0, "--wall-clock takes a duration like 2h, not %s", o.wallClock)
}

// setLimit sets a limit to the value of its flag: a number from least, +N for N more, or a word of none, which sets 0
// and returns true.
func setLimit[T int | int64 | budget.USD](to *T, value, none string, least T, parse func(string) (T, error)) (bool,
	error) {
	if slices.Contains(strings.Fields(none), value) {
		*to = 0
		return true, nil
	}
	more, plus := strings.CutPrefix(value, "+")
	n, err := parse(more)
	if err == nil && n < least {
		err = strconv.ErrRange
	}
	if err != nil {
		return false, err
	}
	if plus {
		n += *to
	}
	*to = n
	return false, nil
}
