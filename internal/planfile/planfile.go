// Package planfile finds and reads what a run is made of, wherever it is kept: a plan file
// of ours, one of another tool, or a task list of Claude Code. It knows no run, but for
// the id by which a task list tells whose completed tasks are still part of the plan.
package planfile

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/foreign"
	"wavex/internal/refuse"
	"wavex/internal/rehearse"
	"wavex/internal/tasklist"
)

// IsList tells whether a path is the folder of a task list.
func IsList(path string) bool { return tasklist.IsList(path, os.Getenv) }

// Load reads a plan, or a task list by its folder; what cannot be read is the caller's
// mistake. run is the run that the plan is read for, "" for none: of a task list the
// tasks that it completed are still part of the plan. The plan is nil where it has
// mistakes, which are among the diagnostics.
func Load(path, run string) (*plan.Plan, []plan.Diagnostic, error) {
	if IsList(path) {
		l, err := tasklist.At(path)
		if err != nil {
			return nil, nil, err
		}
		// As short as reading a file, for whoever calls: only a task that somebody is half-way
		// through writing is waited for, 15 s at most.
		p, diags, err := l.Plan(context.Background(), run)
		if err != nil {
			return nil, nil, refuse.Usage("reading the task list: %s", err)
		}
		return p, diags, nil
	}
	p, diags, err := foreign.Load(path, plan.Options{Rehearse: rehearsable})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, refuse.Usage("%s", missing(path))
	}
	if err != nil {
		return nil, nil, refuse.Usage("%s", err)
	}
	return p, diags, nil
}

// missing says that there is no plan at a path.
func missing(path string) string {
	if path == "-" {
		return "a plan is read from a file; check and graph also read a pipe, as /dev/stdin"
	}
	return "there is no plan " + path
}

// Kept refuses a plan that nobody can read again: a session that goes on, and all that shows
// a run, reads the file anew.
func Kept(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	st, err := os.Stat(abs)
	piped := abs == "/dev/stdin" || strings.HasPrefix(abs, "/dev/fd/") || strings.HasPrefix(abs, "/proc/")
	if err == nil && (piped || !st.IsDir() && !st.Mode().IsRegular()) {
		return refuse.Usage("%s is no file that stays, and a run reads its plan again when it is resumed or shown; write the plan to a file", path)
	}
	return nil // what is not there is said where it is read
}

// rehearsable says what the rehearsal agent would refuse in a block.
func rehearsable(block json.RawMessage) error {
	_, err := rehearse.ParseBlock(block)
	return err
}

// Read is Load where warnings do not matter; a plan with mistakes is a *refuse.PlanError.
func Read(path, run string) (*plan.Plan, error) {
	p, diags, err := Load(path, run)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, refuse.Plan(diags)
	}
	return p, nil
}

// Again is Read of the plan of a run. Agents have been at work since it was read first: what
// could keep the reader waiting, such as a named pipe in its place, is refused.
func Again(path, run string) (*plan.Plan, error) {
	if err := Kept(path); err != nil {
		return nil, err
	}
	return Read(path, run)
}

// Project is where tasks work and where .loop lives: the plan's defaults.dir, relative
// to the plan file, else the current directory, as with make.
func Project(p *plan.Plan) (string, error) {
	if d := p.Defaults.Dir; d != "" {
		abs, err := filepath.Abs(p.Path)
		if err != nil {
			return "", err
		}
		return filepath.Join(filepath.Dir(abs), filepath.FromSlash(d)), nil
	}
	return os.Getwd()
}

// Path is where the plan is, whatever directory a resume is called from.
func Path(p *plan.Plan) string {
	if abs, err := filepath.Abs(p.Path); err == nil {
		return abs
	}
	return p.Path
}

// Same tells whether two paths lead to one file by their names.
func Same(a, b string) bool {
	x, err1 := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && x == y
}
