package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/plan/foreign"
	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/scheduler"
)

type exportOptions struct{ format, to, list string }

func newExport(std Stdio) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export PLAN",
		Short: "Write a plan or its state in another tool's form",
		Long: `export writes a plan as a phase plan in markdown (phase-md) or JSON
(phase-json), or the state of its run as the loop block of a STATE.md
(state-md); before the first run that block has its initial values. What the
form cannot carry is listed. With --task-list it puts the plan into a task list
of Claude Code instead, which must be empty.

Exit status: 0 written, 2 the plan has mistakes.`,
		Example: "  wavex export --format phase-md plan.json -o phase.plan.md\n  wavex export --format state-md plan.json\n  wavex export --task-list my-list plan.json",
		Args:    oneArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.list != "" && (c.Flags().Changed("format") || o.to != "") {
				return usage("--task-list says where and how to write: leave --format and --to out")
			}
			return runExport(c.Context(), args[0], o, std)
		},
	}
	choiceFlag(c, &o.format, "format", "phase-md", []string{"phase-md", "phase-json", "state-md"}, "what to write")
	c.Flags().StringVarP(&o.to, "to", "o", "", "file to write (default: standard output)")
	c.Flags().StringVar(&o.list, "task-list", "", "put the plan into this task list of Claude Code")
	return c
}

func runExport(ctx context.Context, path string, o exportOptions, std Stdio) error {
	p, diags, err := planfile.Load(path, runOf(path, false))
	if err != nil {
		return err
	}
	if p == nil {
		return refuse.Plan(diags)
	}
	if o.list != "" {
		return exportList(ctx, o.list, path, p, std)
	}
	var out []byte
	var lost []string
	switch o.format {
	case "phase-json":
		out, lost = foreign.WritePhaseDoc(p)
	case "state-md":
		if out, err = stateBlock(p); err != nil {
			return err
		}
	default:
		out, lost = foreign.WritePhase(p)
	}
	for _, what := range lost {
		fmt.Fprintf(std.Err, "%s: warning: %s has no place in a phase plan and was left out\n", path, what)
	}
	return writeTo(o.to, out, std)
}

// stateBlock is the loop block of a STATE.md's front matter (LEDGER S4-22): as the
// journal of the plan's project has it, or its initial values.
func stateBlock(p *plan.Plan) ([]byte, error) {
	l := loopBlock{maxIterations: 20}
	dir, err := planfile.Project(p)
	if err != nil {
		return nil, err
	}
	events, err := record.Read(filepath.Join(dir, ".loop"))
	if err != nil {
		return nil, err
	}
	if last := record.Last(events); last != nil && (last.Digest == p.Digest || planfile.Same(last.Plan, p.Path)) {
		s := scheduler.NewState(p)
		if err := s.Replay(events); err != nil {
			return nil, err
		}
		l.of(s, events)
	}
	return []byte(l.String()), nil
}

// loopBlock is the block's content. Times are RFC 3339 in UTC.
type loopBlock struct {
	active        bool
	kind          string // "execute"; "" for null
	phase         string
	iteration     int
	maxIterations int
	retries       []string
	gaps          int
	started       time.Time
	lastIteration time.Time
	paused        bool
	reason        string
	history       []string
}

// unlimited stands for no limit: what reads the block compares numbers.
const unlimited = 1_000_000

func (l *loopBlock) of(s *scheduler.State, events []scheduler.Event) {
	l.active, l.kind = s.Ended == nil, "execute"
	l.phase, _ = foreign.PhaseNumber(s.Plan)
	l.iteration, l.maxIterations = s.Ledger.Iterations(), s.Config.Limits.Iterations
	if s.Config.Limits.NoIterations {
		l.maxIterations = unlimited
	}
	for i := range s.Tasks {
		if n := s.Tasks[i].Tries - 1; n > 0 {
			l.retries = append(l.retries, fmt.Sprintf("%s: %d", strconv.Quote("T"+strings.TrimPrefix(s.Plan.Tasks[i].ID, "T")), n))
		}
	}
	l.gaps, l.started = len(s.Unmet), s.Opened
	if e := s.Ended; e != nil && e.Status != "complete" {
		l.paused, l.reason = true, e.Reason
	}
	n := 0
	for _, e := range events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			l.history, n = nil, 0 // the journal's last run is the one that counts
		case scheduler.AttemptEnded:
			if !b.Charged {
				continue
			}
			n++
			l.lastIteration = e.Time
			l.history = append(l.history, fmt.Sprintf("{iteration: %d, task: %s, outcome: %s, at: %s}", n, strconv.Quote(b.Task), strconv.Quote(string(b.Result.Outcome)), stamp(e.Time)))
		}
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "null"
	}
	return strconv.Quote(t.UTC().Format(time.RFC3339))
}

// String is the front matter with the block. Quoted strings of Go are YAML's, but for
// what no id, outcome or reason holds.
func (l *loopBlock) String() string {
	null := func(s string) string {
		switch {
		case s == "":
			return "null"
		case strings.Trim(s, "0123456789") == "" && len(s) < 10:
			return s
		}
		return strconv.Quote(s)
	}
	retries, history := "{}", "[]"
	if len(l.retries) > 0 {
		retries = "\n    " + strings.Join(l.retries, "\n    ")
	}
	if len(l.history) > 0 {
		history = "\n    - " + strings.Join(l.history, "\n    - ")
	}
	var b strings.Builder
	line := func(name, value string) {
		if value[0] != '\n' {
			value = " " + value
		}
		fmt.Fprintf(&b, "  %s:%s\n", name, value)
	}
	b.WriteString("---\nloop:\n")
	line("active", strconv.FormatBool(l.active))
	line("type", map[string]string{"": "null", "execute": "execute"}[l.kind])
	line("phase", null(l.phase))
	line("iteration", strconv.Itoa(l.iteration))
	line("max_iterations", strconv.Itoa(l.maxIterations))
	line("task_retries", retries)
	line("gaps_remaining", strconv.Itoa(l.gaps))
	line("started", stamp(l.started))
	line("last_iteration", stamp(l.lastIteration))
	line("paused", strconv.FormatBool(l.paused))
	line("pause_reason", null(l.reason))
	line("history", history)
	b.WriteString("---\n")
	return b.String()
}
