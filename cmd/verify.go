package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/inspect"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/run"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

type verifyOptions struct {
	run    *runOptions // of the sessions that fix gaps, and of the output
	from   string
	fix    bool
	rounds int
}

func newVerify(std Stdio) *cobra.Command {
	o := verifyOptions{rounds: 20, run: newRunOptions(std.Fleet)}
	o.run.resuming = true
	c := &cobra.Command{
		Use:   "verify [PLAN]",
		Short: "Make all checks of a plan now, and close the gaps",
		Long: `verify makes every check of every task and criterion of the plan (or of the run
in .loop/ of the project directory), in the project directory as it is now, and
looks whether the files of the plan's links name each other. What fails is a
gap: gaps are printed, and kept in .loop/VERIFICATION.md if there is a .loop.

With --fix the run gets a task for each gap and is resumed, round by round,
until there are none; the other flags are those of resume.

Exit status: 0 no gaps, 1 gaps, 2 usage, 3 --fix has used up its rounds, 4 two
rounds of --fix closed no gap, 5 a run is under way; else as of resume.`,
		Example: "  wavex verify\n  wavex verify plan.json --output json\n  wavex verify --fix --budget +5",
		Args:    optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.fix {
				return runFix(c.Context(), args, &o, std)
			}
			return runVerify(c.Context(), args, &o, std)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "gaps", "", "also include the gaps of this VERIFICATION.md")
	f.BoolVar(&o.fix, "fix", false, "close the gaps by adding tasks to the run")
	f.Var(number(&o.rounds, 1), "max-fix-rounds", "maximum number of rounds of --fix")
	groupFlags(c, "Checks and review")
	runFlags(c, o.run)
	o.run.params.add(c)
	groupFlags(c, "Work")
	return c
}

// verifyReport is the JSON output of `wavex verify`.
type verifyReport struct {
	V      int                   `json:"v"`
	Status string                `json:"status"` // passed, gaps_found
	Plan   string                `json:"plan"`
	Checks []inspect.CheckResult `json:"checks"`
	Open   []string              `json:"not_verified"`       // criteria in prose
	Own    []string              `json:"not_made,omitempty"` // checks that hold only at the time of their task
	Gaps   []inspect.Gap         `json:"gaps"`
}

func runVerify(ctx context.Context, args []string, o *verifyOptions, std Stdio) error {
	_ = proc.Subreaper() // see runPlan
	v, err := openVerification(ctx, args, o, std)
	if err != nil {
		return err
	}
	if err := cmp.Or(o.run.readUser(), o.run.readProject(v.Dir)); err != nil {
		return err
	}
	doc, err := inspectWork(ctx, v, std, func(_ context.Context, doc *inspect.Document) error {
		return v.Record(doc, 0, 0, "")
	})
	if err != nil {
		return err
	}
	signal.Reset(syscall.SIGPIPE) // notifyStopSignals protects runs from SIGPIPE; this is not a run
	if err := printVerification(v, doc, o.run, std); err != nil {
		return err
	}
	if len(doc.Gaps) > 0 {
		return exitCode(event.ExitFailed)
	}
	return nil
}

// inspectWork makes the verification. A signal ends its checks, and nothing is recorded.
func inspectWork(ctx context.Context, v *inspect.Inspection, std Stdio,
	then func(context.Context, *inspect.Document) error) (*inspect.Document, error) {
	ctx, stopped := withSignalCancel(ctx)
	doc, err := v.Run(ctx, func(doc *inspect.Document) error { return then(ctx, doc) })
	if code := stopped(); code != 0 {
		fmt.Fprintln(std.Err, "wavex: interrupted")
		return nil, exitCode(code)
	}
	return doc, err
}

// openVerification finds the work to verify. It needs no run: a plan suffices.
func openVerification(ctx context.Context, args []string, o *verifyOptions, std Stdio) (*inspect.Inspection, error) {
	if err := checkLoopOf(ctx, args); err != nil {
		return nil, err
	}
	v := &inspect.Inspection{Redactor: secret.New(os.Environ()), Warn: std.Err}
	past, err := findRun(args, Stdio{})
	var none *usererr.UsageError
	switch {
	case err == nil:
		v.Plan = past.State.Plan
		v.State = past.State
		v.Events = past.Events
		v.Dir = past.State.Config.Dir
		if len(o.run.params) > 0 {
			return nil, usage("--set is for a plan without a run; run %s has its values", past.State.Config.Run)
		}
		if err := run.CheckAgreement(past.Events, past.State.Config, v.Plan, nil); err != nil {
			return nil, err
		}
	case len(args) == 0 || !errors.As(err, &none):
		return nil, err
	default:
		p, diags, _, err := o.run.params.load(args[0], "", true)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, planfile.NewPlanError(diags)
		}
		v.Plan = p
		if v.Dir, err = projectOf(v.Plan); err != nil {
			return nil, err
		}
	}
	std.tellPlace(v.Dir)
	r := invocation{opts: o.run, std: std, plan: v.Plan}
	if v.State != nil && hasPlan(runlog.Last(v.Events), v.Dir, v.Plan) {
		r.agreed = v.Dir
	}
	if err := r.checkTrust(ctx); err != nil {
		return nil, err
	}
	if o.from != "" {
		text, err := os.ReadFile(o.from)
		if err != nil {
			return nil, usage("reading the gaps: %s", err)
		}
		v.Known = inspect.Parse(string(text))
	}
	return v, nil
}

// printVerification prints a verification as text or JSON.
func printVerification(v *inspect.Inspection, doc *inspect.Document, o *runOptions, std Stdio) error {
	if o.output != "json" {
		printVerificationText(v, doc, o.ascii, std)
		return nil
	}
	r := verifyReport{V: 1, Status: doc.Status(), Plan: v.Plan.Path, Checks: doc.Checks, Own: doc.SkippedChecks,
		Open: append([]string{}, doc.Unverified...), Gaps: append([]inspect.Gap{}, doc.Gaps...)} // [], not null
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = std.Out.Write(append(textfmt.JSON(v.Redactor.Bytes(text)), '\n'))
	return err
}

// printVerificationText prints a verification for people.
func printVerificationText(v *inspect.Inspection, doc *inspect.Document, ascii bool, std Stdio) {
	ok, bad := "✓", "✗"
	if ascii {
		ok, bad = "ok", "FAILED"
	}
	line := func(format string, args ...any) {
		fmt.Fprintln(std.Out, textfmt.Line(v.Redactor.String(fmt.Sprintf(format, args...))))
	}
	for _, c := range doc.Checks {
		mark, why := ok, ""
		var owners []string
		for _, id := range c.Owners() {
			owners = append(owners, report.DisplayID(id))
		}
		if !c.Passed {
			mark = bad
			if c.Reason != "" {
				why = ": " + c.Reason
			}
		}
		line("%s %s %s%s", mark, cmp.Or(strings.Join(owners, ", "), "plan"), c.Check, why)
	}
	for _, text := range doc.Unverified {
		line("? %s (in prose: nothing was run for it)", text)
	}
	for _, text := range doc.SkippedChecks {
		line("- %s: not made again: true at its own time only", text)
	}
	if v.State != nil {
		for _, known := range report.EvidenceLines(v.State) {
			line("%s", known)
		}
	}
	for _, g := range doc.Gaps {
		at := g.File
		if g.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, g.Line)
		}
		at = cmp.Or(at, g.Check)
		line("gap %s %s: %s", g.Type, at, g.Description)
	}
	line("%s of %s passed, %s", fmt.Sprint(doc.Passed()), report.Plural(len(doc.Checks), "check", "checks"),
		report.Plural(len(doc.Gaps), "gap", "gaps"))
}
