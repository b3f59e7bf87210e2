// Package check obtains evidence: it runs check commands and reads files. It ignores all reports
// of agents and changes nothing itself.
package check

import (
	"context"
	"fmt"
	"os"
	"time"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// Place says where commands run.
type Place struct {
	Dir     string   // absolute
	Env     []string // all of it (see proc.Environ); WAVEX_ATTEMPT in it is the mark by which leftovers are swept
	Wrapper []string // see proc.Spec; nil: none
}

// Run makes the checks one after the other, in order, and always returns one Evidence for each.
// Files are relative to the directory of the place.
//
// The error is not nil only if ctx was done first: it is context.Cause(ctx). The evidence of
// interrupted and remaining checks then has Passed false and a Reason. A check that cannot be
// made (no shell, unreadable file) has failed.
func Run(ctx context.Context, at Place, checks []plan.Check) ([]Evidence, error) {
	out, _, err := RunWithOutput(ctx, at, checks)
	return out, err
}

// RunWithOutput is Run. It also returns the output of each check, "" for those of files: all of it up
// to 1 MiB, else the head and the tail.
func RunWithOutput(ctx context.Context, at Place, checks []plan.Check) ([]Evidence, []string, error) {
	out := make([]Evidence, len(checks))
	outputs := make([]string, len(checks))
	for i, c := range checks {
		out[i] = Evidence{Check: Describe(c), Kind: KindObservation, ExitCode: 0}
		if c.Run != "" {
			out[i].Kind = KindExecution
		}
		if err := context.Cause(ctx); err != nil {
			out[i].ExitCode = -1
			out[i].Reason = textfmt.OneLine("not run: "+err.Error(), maxReason)
			continue
		}
		began := time.Now()
		if c.Run != "" {
			outputs[i] = checkCommand(ctx, at, c, &out[i])
		} else {
			checkFile(at.Dir, c, &out[i])
		}
		out[i].Duration = time.Since(began)
	}
	return out, outputs, context.Cause(ctx)
}

// Again makes the failed ones of some checks a second time, in the same place. One that passes then is flaky: it
// counts as passed, and shows nothing. The error is as of Run.
func Again(ctx context.Context, at Place, checks []plan.Check, seen []Evidence, outputs []string) error {
	for i := range seen {
		if seen[i].Passed {
			continue
		}
		again, out, err := RunWithOutput(ctx, at, checks[i:i+1])
		if err == nil && again[0].Passed {
			again[0].Flaky = true
			seen[i], outputs[i] = again[0], out[0]
		}
	}
	return context.Cause(ctx)
}

// Describe returns a check in the form that a person writes.
func Describe(c plan.Check) string {
	switch {
	case c.Run != "":
		return c.Run
	case c.Contains != "":
		return fmt.Sprintf("%s contains %q", c.File, c.Contains)
	case c.Matches != "":
		return fmt.Sprintf("%s matches /%s/", c.File, c.Matches)
	default:
		return c.File + " exists"
	}
}

// Violated returns the texts of the conditions that hold: their check passes, or the file that it only names is there,
// whatever it is. An error means that a check was interrupted.
func Violated(ctx context.Context, at Place, conditions []plan.Condition) (out []string, interrupted error) {
	for _, c := range conditions {
		if c.Check == nil {
			continue
		}
		seen, err := Run(ctx, at, []plan.Check{*c.Check})
		there := false
		if isPresence(*c.Check) {
			_, missing := os.Lstat(resolvePath(at.Dir, c.Check.File))
			there = missing == nil
		}
		switch {
		case err != nil:
			interrupted = err
		case there || Passed(seen):
			out = append(out, c.Text)
		}
	}
	return out, interrupted
}
