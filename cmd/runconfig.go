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

// resolveConfig builds the run's configuration from flags, the plan, settings and defaults, in this order. old is
// the configuration of the resumed run; its values stay unless a flag replaces them.
func resolveConfig(o *runOptions, p *plan.Plan, dir string, old *event.Config) (event.Config, error) {
	c := initialConfig(p, old)
	c.Dir, c.Loop = dir, loop.In(dir)
	planned := planSettings(p)
	given := func(flag string) bool { // a resumed run keeps its values, and a plan counts before settings files
		return o.forced(flag) || old == nil && planned[flag] == "" && o.given(flag)
	}
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
	set(o.forced("max-retries"), &c.ForceRetries, true)
	if given("retry-session") || c.RetrySession == "" {
		c.RetrySession, c.ForceSession = o.retrySession, o.forced("retry-session")
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

	label := strings.Replace(o.named("parallel"), "--parallel", "-j", 1)
	err := cmp.Or(
		usageIf(given("parallel") && o.parallel < 1, "%s takes a number from 1", label),
		checkDelivery(o.named("deliver"), o.deliver),
		resolveTrack(o, p, &c),
		checkNumbers(o, given),
		usageIf(c.ReviewRounds < 1, "%s takes a number from 1", o.named("max-review-rounds")),
		usageIf(given("wait-for-reset") && (badWait != nil || wait < 0), "%s takes a duration like 6h, not %q",
			o.named("wait-for-reset"), o.waitForReset),
		noPrices,
		resolveLimits(o, given, &c))
	return c, err
}

// checkNumbers refuses numbers that a flag does not take.
func checkNumbers(o *runOptions, given func(flag string) bool) error {
	return cmp.Or(
		usageIf(o.grace < 0, "%s takes a duration like 10s, not %s", o.named("grace"), o.grace),
		usageIf(given("max-retries") && o.maxRetries < 0, "%s takes a number from 0", o.named("max-retries")),
		usageIf(given("counsel-threshold") && o.threshold < 1, "%s takes a number from 1", o.named("counsel-threshold")),
		usageIf(given("counsel-holdout") && !(o.holdout >= 0 && o.holdout <= 1), "%s takes a share from 0 to 1",
			o.named("counsel-holdout")))
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

// planSettings returns the values that a plan itself gives to flags, as text.
func planSettings(p *plan.Plan) map[string]string {
	v := map[string]string{"schedule": p.Schedule, "isolation": p.Isolation, "deliver": p.Deliver,
		"retry-session": p.Defaults.RetrySession}
	dollars := func(d budget.USD) string { return strconv.FormatFloat(d.Float(), 'f', -1, 64) }
	switch usd := p.Budget.USD; {
	case usd == nil:
	case *usd == plan.NoLimit:
		v["budget"] = "none"
	default:
		v["budget"] = dollars(*usd)
	}
	if n := p.Budget.Iterations; n != nil {
		v["max-iterations"] = strconv.Itoa(*n)
	}
	if p.Budget.Wave > 0 {
		v["wave-budget"] = dollars(p.Budget.Wave)
	}
	if p.Budget.WallClock > 0 {
		v["wall-clock"] = p.Budget.WallClock.String()
	}
	if n := p.Defaults.MaxRetries; n != nil {
		v["max-retries"] = strconv.Itoa(*n)
	}
	if p.Parallel > 0 {
		v["parallel"] = strconv.Itoa(p.Parallel)
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

func resolveLimits(o *runOptions, given func(flag string) bool, c *event.Config) (err error) {
	l := &c.Limits
	if given("budget") {
		c.BudgetGiven = true
		if l.NoUSD, err = setLimit(&l.USD, o.budget, "none unlimited", 0, budget.ParseUSD); err != nil {
			return usage("%s: %s", o.named("budget"), err)
		}
	}
	if given("wave-budget") {
		if _, err := setLimit(&l.Wave, o.waveBudget, "none unlimited", 1, budget.ParseUSD); err != nil {
			return usage("%s takes dollars, +N, or none, not %q", o.named("wave-budget"), o.waveBudget)
		}
	}
	if given("max-iterations") {
		if l.NoIterations, err = setLimit(&l.Iterations, o.iterations, "none unlimited 0", 1, strconv.Atoi); err != nil {
			return usage("%s takes a number, +N, or unlimited, not %q", o.named("max-iterations"), o.iterations)
		}
	}
	if given("max-tokens") {
		parse := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
		if _, err := setLimit(&l.Tokens, o.maxTokens, "none unlimited", 1, parse); err != nil {
			return usage("%s takes a number from 1, +N, or unlimited, not %q", o.named("max-tokens"), o.maxTokens)
		}
	}
	set(given("wall-clock"), &l.Wall, o.wallClock)
	return usageIf(given("wall-clock") && l.Wall <= 0, "%s takes a duration like 2h, not %s", o.named("wall-clock"),
		o.wallClock)
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
