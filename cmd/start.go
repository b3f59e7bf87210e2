package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/request"
	"wavex/internal/textfmt"
)

func newStart(std Stdio) *cobra.Command {
	o := requestOptions{run: newRunOptions(std.Fleet)}
	c := &cobra.Command{
		Use:   "start [REQUEST]",
		Short: "Go from a sentence to a verified result",
		Long: `start recalls what was learnt before, scores how clear the request is, asks
what it leaves open, says what it must come to (.loop/shape/SHAPE.md), makes a
plan of it (.loop/plan.json), and runs that. Each stage is kept in .loop/: what
was answered is never asked again. Without a request it continues the one that
is under way. docs/requests.md tells more.

On a terminal a request that suits a colleague asks after planning, after each
attempt and before the end, one that suits a tool with review after each wave.
Elsewhere, and with --yes, nothing is ever asked.
` + codesHelp,
		Example: `  wavex start "add a --json flag to cmd/status.go; go test ./cmd passes; \
      no new dependencies; done when the tests pass"
  wavex start                               (continue)
  wavex start "..." --agent rehearse        (nobody is asked, nothing is spent)`,
		Args: optionalArg("a request in quotes"),
		RunE: func(c *cobra.Command, args []string) error {
			o.text = strings.Join(args, "")
			return runRequest(c.Context(), o, std)
		},
	}
	runFlags(c, o.run)
	requestFlags(c, &o)
	groupFlags(c, "Work")
	return c
}

func newPlan(std Stdio) *cobra.Command {
	o := requestOptions{run: newRunOptions(std.Fleet), planOnly: true}
	c := &cobra.Command{
		Use:   "plan [REQUEST]",
		Short: "Make a plan from a request, to read and change",
		Long: `plan goes through the stages of wavex start up to the plan, writes it, and says
what it is expected to cost and take. A request that is too vague ends with the
questions to answer. Nothing is run. Without a request it continues the one
that is under way. docs/requests.md tells more.

With --offline the request is only scored, by words and patterns: no model is
asked and nothing is planned.

Exit status: 0 planned, 2 usage, 3 the budget is spent, 5 too vague, too large,
or a person must act, 6 paused until a usage limit resets, 130 interrupted.`,
		Example: `  wavex plan "add pagination to GET /api/orders, at most 100 per page; no new \
      dependencies; go test ./api passes; done when the tests pass"
  wavex plan "..." -o orders.json --budget 2
  wavex plan "make it better" --offline`,
		Args: optionalArg("a request in quotes"),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			o.text = strings.Join(args, "")
			if o.run.settings, err = runSettings(c, o.run); err != nil {
				return err
			}
			return runRequest(c.Context(), o, std)
		},
	}
	f := c.Flags()
	bindSettings(c, o.run.rows, "agent", "scenario", "sandbox", "budget", "prices", "output", "yes")
	f.Lookup("budget").Usage = "dollars for the request and its run, +N more, or none (default: 25)"
	f.Lookup("yes").Usage = "never ask"
	f.StringVarP(&o.planFile, "to", "o", "plan.json", "plan file to write")
	f.BoolVar(&o.offline, "offline", false, "only score the request, by a heuristic")
	requestFlags(c, &o)
	return c
}

func requestFlags(c *cobra.Command, o *requestOptions) {
	f := c.Flags()
	choiceFlag(c, &o.workflow, "workflow", "", []string{"A", "B", "C"},
		"kind of work: A build, B debug, C refactor (default: by the request's words)")
	choiceFlag(c, &o.shape, "shape", "", []string{"colleague", "tool-review", "tool"},
		"how closely a person follows the work (default: by the scores)")
	f.IntSliceVar(&o.score, "spec-score", nil,
		"score the request yourself: outcome, scope, constraints, success and done, 0 to 2 points each, as in 2,2,1,1,0")
	f.BoolVar(&o.force, "force", false, "continue even if the request is too vague")
	f.BoolVar(&o.run.fresh, "fresh", false, "start over: .loop is moved aside, never deleted")
}

// printPlan prints the plan, its doubtful points and its forecast.
func (q *requestCommand) printPlan(res request.Result) error {
	p, diags, err := planfile.Load(res.Path, "")
	if err != nil {
		return err
	}
	if p == nil {
		return planfile.NewPlanError(diags)
	}
	_, waves := p.Waves()
	q.notify(fmt.Sprintf("plan: %s in %s: %s (%s spent)", report.Plural(len(p.Tasks), "task", "tasks"),
		report.Plural(waves, "wave", "waves"), res.Path, res.Origin.Spent.Spent()))
	for i, ids := range waveIDs(p) {
		q.notify(fmt.Sprintf("  wave %d: %s", i+1, joinFirstN(ids, 12)))
	}
	for _, d := range diags {
		q.notify("  " + d.String())
	}
	for _, n := range res.Plan.Notes {
		q.notify("  doubt: " + n)
	}
	parallel := cmp.Or(q.run.want.Parallel, p.Parallel, defaultParallel(q.config.Agent))
	q.notify(forecast.Expect(q.past, p, parallel).String())
	if q.planOnly {
		q.notify("read and change it, then: wavex run " + q.displayPath(res.Path))
	}
	return nil
}

// displayPath returns path as a person would type it in the current directory.
func (q *requestCommand) displayPath(path string) string {
	return plan.ShellQuote(displayPath(path))
}

// confirmPlan prints the checklist and asks at gate G1 if the shape requires it. If it returns an error,
// nothing has been started.
func (q *requestCommand) confirmPlan(ctx context.Context, res request.Result) (*plan.Plan, error) {
	p, err := planfile.Read(res.Path, "")
	if err != nil {
		return nil, err
	}
	_, waves := p.Waves()
	limits := q.config.Limits
	if !q.givesBudget() {
		limits = forecast.Limits(p)
	}
	facts := request.PreflightFacts{Decision: res.Intent.Decision, Reversibility: res.Intent.Reversibility,
		Workflow: res.Intent.Kind,
		Criteria: len(p.Criteria), Tasks: len(p.Tasks), Waves: waves, Plan: q.displayPath(res.Path),
		State:  q.displayPath(string(q.loop)),
		Budget: limits.USD.String()}
	if limits.NoUSD {
		facts.Budget = "no limit"
	}
	for _, c := range p.Criteria {
		if c.Verification == "assumption" {
			facts.Assumptions++
		}
	}
	for i := range p.Tasks {
		if !p.Tasks[i].HasCheck() {
			facts.Unchecked = append(facts.Unchecked, p.Tasks[i].ID)
		}
	}
	points := request.Preflight(facts)
	q.notify("preflight:")
	for i, pt := range points {
		mark := "ok"
		if !pt.OK {
			mark = "NO"
		}
		q.notify(fmt.Sprintf("  %d. %s %s: %s", i+1, mark, pt.Name, pt.Text))
	}
	if !request.PreflightPassed(points) {
		fmt.Fprintln(q.std.Err, "wavex: the checklist is not passed; nothing was started. Put it right, then continue with: wavex start")
		return nil, exitCode(event.ExitBlocked)
	}
	if q.prompter != nil && res.Intent.Decision.Shape == request.Colleague {
		if err := q.confirmG1(ctx, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// confirmG1 shows the steps and asks whether to continue.
func (q *requestCommand) confirmG1(ctx context.Context, p *plan.Plan) error {
	fmt.Fprintf(q.std.Err, "G1: Decomposed into %s:\n", report.Plural(len(p.Tasks), "step", "steps"))
	for i := range p.Tasks {
		fmt.Fprintf(q.std.Err, "  %d. %s\n", i+1, textfmt.Line(cmp.Or(p.Tasks[i].Subject, p.Tasks[i].ID)))
	}
	yes, err := q.prompter.promptYesNo(ctx, "Proceed? [Y/n] ")
	if err == nil && yes {
		return nil
	}
	fmt.Fprintf(q.std.Err, "wavex: not at G1; nothing was started. Change %s as you like, then continue with: wavex start\n", q.displayPath(p.Path))
	return exitCode(event.ExitFailed)
}

// runOptionsFor returns the options that run the plan: the given flags and the settings of the request.
func (q *requestCommand) runOptionsFor(p *plan.Plan, shape request.Autonomy) *runOptions {
	o := q.run
	switch shape {
	case request.Colleague:
		o.gates = event.GatesAttempts
	case request.ToolReview:
		o.gates = event.GatesWaves
	}
	o.planPath, o.fresh, o.told = p.Path, false, nil
	o.force("agent", q.config.Agent)
	if !o.given("max-iterations") && q.config.Iterations != "" {
		o.force("max-iterations", q.config.Iterations)
	}
	switch l := q.config.Limits; {
	case l.NoUSD:
		o.force("budget", "none")
	case q.givesBudget():
		o.force("budget", strconv.FormatFloat(l.USD.Float(), 'f', -1, 64))
	}
	return o
}

// givesBudget reports whether the run gets the budget of the request. Else the plan's counts, or the default one, which
// does not limit a subscription. An older wavex did not record whether the user has set it.
func (q *requestCommand) givesBudget() bool {
	l := q.config.Limits
	return q.config.BudgetGiven || l.NoUSD || l.USD != plan.DefaultUSD
}
