// Package check obtains evidence: it runs check commands and reads files. It ignores all reports
// of agents and changes nothing itself.
package check

import (
	"context"
	"maps"
	"os"
	"strings"
	"time"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// Place says where commands run, and which results are known there.
type Place struct {
	Dir     string   // absolute
	Env     []string // all of it (see proc.Environ); WAVEX_ATTEMPT in it is the mark by which leftovers are swept
	Wrapper []string // see proc.Spec; nil: none
	Once    bool     // checks that fail are not repeated
	Suites  []string // by check: the Suite of its output before the work, or ""

	// Memory has results by Files, which identifies the files that the checks see and their environment; "": not known.
	// Both may be nil.
	Memory *Memory
	Files  func() string
}

// Places makes the places of a run, and has the results that are known there.
type Places struct {
	Memory
	Run  string                     // marks the processes
	Env  proc.Inherited             // variables of every process
	Wall func(root string) []string // returns the Wrapper of checks in a working tree; nil: none
}

// At returns the place dir, which is in the working tree root; "": without a wall. name is the mark within the run, and
// vars has further variables.
func (p *Places) At(dir, root, name string, vars map[string]string) Place {
	all := map[string]string{proc.RunVar: p.Run, proc.AttemptVar: p.Run + "/" + name}
	maps.Copy(all, vars)
	at := Place{Dir: dir, Env: p.Env.With(all)}
	if p.Wall != nil && root != "" {
		at.Wrapper = p.Wall(root)
	}
	return at
}

// Run makes checks one after the other, in order, and always returns one Evidence for each. Files are relative to the
// directory of the place. A failure counts when it is seen twice on the same files: those that fail run again after the
// others. A check whose result is known does not run.
//
// The error is not nil only if ctx was done first: it is context.Cause(ctx). The evidence of interrupted and remaining
// checks then has Passed false and a Reason. A check that cannot be made (no shell, unreadable file) has failed.
func (at Place) Run(ctx context.Context, checks []plan.Check) ([]Evidence, error) {
	out, own := make([]Evidence, len(checks)), make([]Result, len(checks))
	if at.Files == nil {
		at.Files = func() string { return "" }
	}
	files := at.Files()
	for reds := 1; reds == 1 || reds == 2 && !at.Once; reds++ {
		for i, c := range checks {
			if out[i].Passed {
				continue
			}
			r := &own[i]
			if files != "" && c.Run != "" && !strings.Contains(c.Run, "WAVEX_") { // these belong to their own task
				r = at.Memory.Of(files, c)
			}
			e := r.After(reds, func() (e Evidence, valid bool) {
				e = at.run(ctx, i, c)
				before := files
				if c.Run != "" {
					files = at.Files()
				}
				return e, files == before && context.Cause(ctx) == nil
			})
			if reds == 1 || context.Cause(ctx) == nil {
				out[i] = e
			}
		}
	}
	return out, context.Cause(ctx)
}

// Violated returns the texts of the conditions that must not be true and are: their check passes twice, or the file
// that it only names is there, whatever it is. The error is as of Run; the remaining conditions are then not looked at.
func (at Place) Violated(ctx context.Context, conditions []plan.Condition) (out []string, err error) {
	at.Once, at.Files = true, nil
	for _, c := range conditions {
		holds := c.Check != nil
		if holds && isPresence(*c.Check) {
			_, missing := os.Lstat(resolvePath(at.Dir, c.Check.File))
			holds = missing == nil
		} else {
			for n := 0; n < 2 && holds; n++ {
				seen, err := at.Run(ctx, []plan.Check{*c.Check})
				if err != nil {
					return out, err
				}
				holds = seen[0].Passed
			}
		}
		if holds {
			out = append(out, c.Text)
		}
	}
	return out, nil
}

// run makes check i.
func (at Place) run(ctx context.Context, i int, c plan.Check) Evidence {
	e := Evidence{Check: c.Describe(), Kind: KindObservation}
	if c.Run != "" {
		e.Kind = KindExecution
	}
	if err := context.Cause(ctx); err != nil {
		e.ExitCode = -1
		e.Reason = textfmt.OneLine("not run: "+err.Error(), maxReason)
		return e
	}
	began := time.Now()
	if c.Run == "" {
		checkFile(at.Dir, c, &e)
	} else if checkCommand(ctx, at, c, &e); e.Passed {
		suite := ""
		if i < len(at.Suites) {
			suite = at.Suites[i]
		}
		e.Empty = RanNothing(e.Whole, suite)
	}
	e.Duration = time.Since(began)
	return e
}
