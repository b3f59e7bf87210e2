package cmd

import (
	"path/filepath"
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
	c := event.DefaultConfig()
	if old != nil {
		c = *old
	} else {
		c.Run = runlog.NewID(time.Now())
		c.Limits, c.BudgetGiven = forecast.Limits(p), p.Budget.USD != nil
		c.Parallel = p.Parallel
		if p.Schedule != "" {
			c.Schedule = p.Schedule
		}
		if n := p.Defaults.MaxRetries; n != nil {
			c.MaxRetries = *n
		}
	}
	c.Dir, c.Loop = dir, loop.In(dir)
	given := o.changed
	if o.grace < 0 {
		return c, usage("--grace takes a duration like 10s, not %s", o.grace)
	}
	if old == nil || given("agent") {
		c.Agent = o.agent
	}
	if given("parallel") {
		c.Parallel = o.parallel
		if c.Parallel < 1 {
			return c, usage("-j takes a number from 1")
		}
	}
	if c.Parallel == 0 {
		c.Parallel = defaultParallel(c.Agent)
	}
	c.Spares = spareCount(c.Agent, c.Parallel)
	if old == nil {
		c.Isolation = o.isolation // a run keeps its working directory mode
		if p.Isolation != "" && !given("isolation") {
			c.Isolation = p.Isolation
		}
	}
	if given("no-verify") {
		c.NoVerify = o.noVerify
	}
	if err := checkDelivery(o.deliver); err != nil {
		return c, err
	}
	if err := resolveTrack(o, p, &c); err != nil {
		return c, err
	}
	if old == nil || given("deliver") {
		c.Deliver = o.deliver
	}
	if old == nil {
		c.Gates = o.gates
	}
	if old == nil || given("mode") {
		c.Mode = o.mode
	}
	if given("stagger") {
		c.Stagger = strings.TrimPrefix(o.stagger, "off")
	}
	if given("schedule") {
		c.Schedule = o.schedule
	}
	if given("max-retries") {
		if c.MaxRetries = o.maxRetries; c.MaxRetries < 0 {
			return c, usage("--max-retries takes a number from 0")
		}
		c.ForceRetries = true
	}
	if given("retry-session") || c.RetrySession == "" {
		c.RetrySession, c.ForceSession = o.retrySession, given("retry-session")
	}
	if given("fail-fast") {
		c.FailFast = o.failFast
	}
	if old == nil || given("precheck") {
		c.Precheck = o.precheck == "on"
	}
	if given("counsel") {
		c.Counsel = o.counsel == "on"
	}
	if given("counsel-block") {
		c.Blocked = o.blocked
	}
	if given("counsel-threshold") {
		if c.Threshold = o.threshold; c.Threshold < 1 {
			return c, usage("--counsel-threshold takes a number from 1")
		}
	}
	if given("counsel-holdout") {
		if c.Holdout = o.holdout; c.Holdout < 0 || c.Holdout > 1 {
			return c, usage("--counsel-holdout takes a share from 0 to 1")
		}
	}
	if old == nil || given("review") || c.Review == "" {
		c.Review = o.review
	}
	if old == nil || given("max-review-rounds") || c.ReviewRounds == 0 {
		if c.ReviewRounds = o.reviewRounds; c.ReviewRounds < 1 {
			return c, usage("--max-review-rounds takes a number from 1")
		}
	}
	if old == nil || given("judge") {
		c.Judge = o.judge == "on" || o.judge == "auto" && agent.NeedsAgent(p)
	}
	if old == nil || given("accept-assumptions") {
		c.AcceptAssumptions = o.accept
	}
	if given("wait-for-reset") {
		d, err := time.ParseDuration(o.waitForReset)
		if err != nil || d < 0 {
			return c, usage("--wait-for-reset takes a duration like 6h, not %q", o.waitForReset)
		}
		c.WaitForReset = d
	}
	if given("prices") {
		if c.Prices = o.prices; c.Prices != "" {
			abs, err := filepath.Abs(c.Prices)
			if err != nil {
				return c, err
			}
			c.Prices = abs
		}
	}
	return c, resolveLimits(o, &c)
}

func resolveLimits(o runOptions, c *event.Config) error {
	l := &c.Limits
	if o.changed("budget") {
		c.BudgetGiven = true
		switch s := o.budget; {
		case s == "none" || s == "unlimited":
			l.NoUSD, l.USD = true, 0
		default:
			more, plus := strings.CutPrefix(s, "+")
			usd, err := budget.ParseUSD(more)
			if err != nil {
				return usage("--budget: %s", err)
			}
			if plus {
				usd += l.USD
			}
			l.NoUSD, l.USD = false, usd
		}
	}
	if o.changed("wave-budget") {
		switch s := o.waveBudget; {
		case s == "none" || s == "unlimited":
			l.Wave = 0
		default:
			more, plus := strings.CutPrefix(s, "+")
			usd, err := budget.ParseUSD(more)
			if err != nil || usd == 0 {
				return usage("--wave-budget takes dollars, +N, or none, not %q", s)
			}
			if plus {
				usd += l.Wave
			}
			l.Wave = usd
		}
	}
	if o.changed("max-iterations") {
		switch s := o.iterations; {
		case s == "unlimited" || s == "none" || s == "0":
			l.NoIterations, l.Iterations = true, 0
		default:
			more, plus := strings.CutPrefix(s, "+")
			n, err := strconv.Atoi(more)
			if err != nil || n < 1 {
				return usage("--max-iterations takes a number, +N, or unlimited, not %q", s)
			}
			if plus {
				n += l.Iterations
			}
			l.NoIterations, l.Iterations = false, n
		}
	}
	if o.changed("max-tokens") {
		switch s := o.maxTokens; {
		case s == "unlimited" || s == "none":
			l.Tokens = 0
		default:
			more, plus := strings.CutPrefix(s, "+")
			n, err := strconv.ParseInt(more, 10, 64)
			if err != nil || n < 1 {
				return usage("--max-tokens takes a number from 1, +N, or unlimited, not %q", s)
			}
			if plus {
				n += l.Tokens
			}
			l.Tokens = n
		}
	}
	if o.changed("wall-clock") {
		if l.Wall = o.wallClock; l.Wall <= 0 {
			return usage("--wall-clock takes a duration like 2h, not %s", o.wallClock)
		}
	}
	return nil
}
