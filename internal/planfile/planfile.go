// Package planfile finds and reads the source of a run: a plan file of wavex, a plan of another
// tool, or a task list of Claude Code. It knows nothing of runs except the id with which a task
// list marks the completed tasks that still belong to the plan.
package planfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/rehearse"
	"wavex/internal/tasklist"
	"wavex/internal/usererr"
)

// IsList reports whether a path is the folder of a task list.
func IsList(path string) bool { return tasklist.IsList(path, os.Getenv) }

// defaultNames lists the names under which Default finds a plan.
var defaultNames = []string{"plan.json", "plan.yaml", "plan.yml"}

// Default returns the name of the plan file in a directory, the only one with a default name. If there is none, it
// returns "". Several are a usage error.
func Default(dir string) (string, error) {
	found := ""
	for _, name := range defaultNames {
		st, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err != nil || st.IsDir():
		case found != "":
			return "", usererr.Usage("%s and %s are both in %s: name the one that is meant", found, name, dir)
		default:
			found = name
		}
	}
	return found, nil
}

// Load reads a plan, or a task list by its folder. An unreadable source is a usage error. run is
// the run that the plan is read for, or "": the tasks of a list that this run completed still
// belong to the plan. The plan is nil if it has mistakes, which are among the diagnostics.
func Load(path, run string) (*plan.Plan, []plan.Diagnostic, error) {
	return LoadWith(path, run, plan.ParamOptions{})
}

// LoadWith is like Load, with values for the parameters of the plan.
func LoadWith(path, run string, params plan.ParamOptions) (*plan.Plan, []plan.Diagnostic, error) {
	if IsList(path) {
		l, err := tasklist.OpenDir(path)
		if err != nil {
			return nil, nil, err
		}
		// This takes as long as reading a file, except that it waits, 15 s at most, for a task that
		// another process is writing.
		p, diags, err := l.Plan(context.Background(), run)
		if err != nil {
			return nil, nil, usererr.Usage("reading the task list: %s", err)
		}
		return p, diags, nil
	}
	p, diags, err := convert.Load(path, plan.Options{ValidateRehearse: validateRehearse, Params: params})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usererr.Usage("%s", notFoundText(path))
	}
	if err != nil {
		return nil, nil, usererr.Input(err)
	}
	return p, diags, nil
}

// notFoundText returns the message that there is no plan at a path.
func notFoundText(path string) string {
	if path == "-" {
		return "a plan is read from a file; check and graph also read a pipe, as /dev/stdin"
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path)) // without the folder there is nothing to suggest
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".json", ".yaml", ".yml", ".md":
			names = append(names, e.Name())
		}
	}
	return "there is no plan " + path + plan.DidYouMean(filepath.Base(path), names)
}

// CheckReopenable refuses a plan that cannot be read again: a resume, and every command that shows the run,
// reads the file again.
func CheckReopenable(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	st, err := os.Stat(abs)
	piped := abs == "/dev/stdin" || strings.HasPrefix(abs, "/dev/fd/") || strings.HasPrefix(abs, "/proc/")
	if err == nil && (piped || !st.IsDir() && !st.Mode().IsRegular()) {
		return usererr.Usage(
			"%s is no file that stays, and a run reads its plan again when it is resumed or shown; write the plan to a file",
			path)
	}
	return nil // reading the plan reports a missing file
}

// validateRehearse returns the error with which the rehearsal agent would refuse a block.
func validateRehearse(block json.RawMessage) error {
	_, err := rehearse.ParseBlock(block)
	return err
}

// Read is like Load, without warnings. A plan with mistakes is a *PlanError.
func Read(path, run string) (*plan.Plan, error) { return ReadWith(path, run, plan.ParamOptions{}) }

// ReadWith is like Read, with values for the parameters of the plan.
func ReadWith(path, run string, params plan.ParamOptions) (*plan.Plan, error) {
	p, diags, err := LoadWith(path, run, params)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, NewPlanError(diags)
	}
	return p, nil
}

// Reread is like Read, for the plan of an existing run with the values and lists of that run. Agents may have changed
// the file since it was first read, so Reread refuses a file that could block the reader, such as a named pipe.
func Reread(path, run string, values plan.ParamOptions) (*plan.Plan, error) {
	if err := CheckReopenable(path); err != nil {
		return nil, err
	}
	return ReadWith(path, run, values)
}

// SamePath reports whether two paths name the same file, by their names.
func SamePath(a, b string) bool {
	x, err1 := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && x == y
}

// PlanError holds a plan's mistakes.
type PlanError struct{ Diags []plan.Diagnostic }

// NewPlanError returns a PlanError with all diagnostics of a plan, including warnings.
func NewPlanError(diags []plan.Diagnostic) error { return &PlanError{diags} }

func (e *PlanError) Error() string {
	var b strings.Builder
	errs := 0
	for _, l := range plan.Lines(e.Diags) {
		fmt.Fprintln(&b, l)
	}
	for _, d := range e.Diags {
		if d.Severity == plan.SeverityError {
			errs++
		}
	}
	what := "mistakes"
	if errs == 1 {
		what = "mistake"
	}
	fmt.Fprintf(&b, "the plan has %d %s; nothing was started", errs, what)
	return b.String()
}
