package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/check"
	"wavex/internal/lazyregexp"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file decides about attempts that changed the files on which checks rest. Where a look is not enough, it makes
// the checks again with the old versions of these files, in a copy of the project.

// These bound a copy of the project, by the number of its entries and in bytes, and the checks of others that are made
// in it.
const (
	maxCopied      = 50_000
	maxCopiedBytes = 2 << 30
	maxOtherRuns   = 20
)

// copyName is the beginning of the names of the directories that hold a copy.
const copyName = "wavex-check-"

// copyTime limits the time of one copy.
const copyTime = 30 * time.Second

var errCopyTime = errors.New("the project is too large for a copy")

var errTooManyFiles = errors.New("the project has too many files for a copy")

var errTooManyBytes = fmt.Errorf("the project has more than %d GB, too much for a copy", maxCopiedBytes>>30)

// disabled returns the verdict on an attempt that disabled tests, if it did.
func disabled(changed []changedFile) (v classification, is bool) {
	changed = slices.DeleteFunc(slices.Clone(changed), func(c changedFile) bool { return c.what == "" })
	if len(changed) == 0 {
		return v, false
	}
	var reasons []string
	for _, c := range changed[:min(len(changed), 3)] {
		reasons = append(reasons, fmt.Sprintf("%s was %s, and %s rests on it", c.path, c.what, ownerText(c.Other)))
	}
	return classification{outcome: Wrong, reason: strings.Join(reasons, "; "), detail: restoreText(changed)}, true
}

func ownerText(other string) string {
	if other == "" {
		return "its own check"
	}
	return "a check of " + other
}

// restoreText tells the next attempt what to restore.
func restoreText(changed []changedFile) string {
	var b strings.Builder
	b.WriteString("The plan does not let this task change these files, which show whether the work is right. " +
		"Restore them as they were before the task, then do the work itself:\n")
	for _, c := range changed {
		switch {
		case c.old.State == "":
			fmt.Fprintf(&b, "%s did not exist: remove it\n", c.path)
		case c.old.Text != nil && len(c.old.Text) < 2<<10:
			fmt.Fprintf(&b, "%s was:\n%s\n", c.path, c.old.Text)
		default:
			fmt.Fprintf(&b, "%s\n", c.path)
		}
	}
	return b.String()
}

// checkWithOld makes the checks again that rest on changed files. The outcome is Wrong if the old versions show that,
// else Done. The result names the files about which it cannot tell. The error is the cause of an interruption.
func (t *attempt) checkWithOld(ctx context.Context, changed []changedFile,
	checks []restingCheck) (v classification, err error) {
	doubts, runs := map[string]string{}, 0
	for _, c := range checks {
		on := slices.DeleteFunc(slices.Clone(changed), func(f changedFile) bool {
			_, rests := c.files[f.path]
			return !rests && f.Other != c.Owner
		})
		if len(on) == 0 {
			continue
		}
		why := "no more than " + fmt.Sprint(maxOtherRuns) + " checks of others are made again"
		if runs++; c.Owner == "" || runs <= maxOtherRuns {
			var failed check.Evidence
			if failed, why, err = t.compare(ctx, c, on); err != nil {
				return v, err
			}
			undecided := slices.ContainsFunc(on, func(f changedFile) bool { return f.undecided })
			if failed.Check != "" && !undecided {
				return wrongWithOld(c, on, failed), nil
			}
			if failed.Check != "" {
				why = "the check fails with the old version, which may have been the work to do"
			}
		}
		for _, f := range on {
			if why != "" {
				doubts[f.path] = why
			}
		}
	}
	for _, f := range changed {
		if why := doubts[f.path]; why != "" {
			t.res.Tampered = MergeTampers(t.res.Tampered, []Tamper{{Path: t.req.relative(f.path),
				Why: ownerText(f.Other) + " rests on it", Own: f.Other == "", Doubt: why}})
		}
	}
	return classification{outcome: Done}, nil
}

// relative makes a path of the project relative to the attempt's directory.
func (r *Request) relative(file string) string {
	under := filepath.FromSlash(path.Clean(r.CheckFiles.Under))
	rel, _ := filepath.Rel(under, filepath.FromSlash(file)) // both are in the project
	return filepath.ToSlash(rel)
}

func wrongWithOld(c restingCheck, on []changedFile, failed check.Evidence) classification {
	var names []string
	for _, f := range on {
		names = append(names, f.path)
	}
	return classification{outcome: Wrong,
		reason: fmt.Sprintf("%s passes only because of changes in %s: with what was there before, it fails: %s: %s",
			ownerText(c.Owner), textfmt.OneLine(strings.Join(names, ", "), 120), textfmt.OneLine(failed.Check, 100),
			failed.Reason),
		detail: fmt.Sprintf("%s\nWith the versions from before the task:\n$ %s\n%s\n%s\n", restoreText(on), failed.Check,
			failed.Output, failed.Reason)}
}

// compare makes a check with the old versions of changed files, and, if it fails, with the new ones in a copy of the
// same kind. It returns the failure if only the old ones fail, or says why it cannot tell.
func (t *attempt) compare(ctx context.Context, c restingCheck,
	on []changedFile) (failed check.Evidence, doubt string, err error) {
	t.observe("checking", "with the files from before the task")
	old, err := t.checkCopy(ctx, c, on)
	switch {
	case context.Cause(ctx) != nil:
		return failed, "", context.Cause(ctx)
	case err != nil:
		return failed, err.Error(), nil
	case old.Passed:
		return failed, "", nil
	case old.ExitCode < 0 || old.ExitCode == 126 || old.ExitCode == 127 || cannotRun().MatchString(old.Output):
		return failed, "the check cannot run with the old version", nil
	}
	control, err := t.checkCopy(ctx, c, nil)
	switch {
	case context.Cause(ctx) != nil:
		return failed, "", context.Cause(ctx)
	case err != nil:
		return failed, err.Error(), nil
	case !control.Passed:
		return failed, "the check fails in a copy of the project with either version", nil
	}
	old.Check, old.Output = t.redact(old.Check), t.redact(old.Output)
	return old, "", nil
}

// cannotRun matches the output of a check whose old files do not fit the new work, for example after a rename.
var cannotRun = lazyregexp.New(`\[(?:build|setup) failed\]|cannot find module|no required module provides|` +
	`updates to go\.mod needed|Cannot find module|ERR_MODULE_NOT_FOUND|SyntaxError|ReferenceError|` +
	`is not a (?:function|constructor)|error TS\d|` +
	`ImportError|ModuleNotFoundError|NameError|AttributeError|errors? during collection|` +
	`undefined (?:method|local variable|reference)|LoadError|uninitialized constant|could not compile|` +
	`COMPILATION ERROR|compilation failed|cannot find symbol|` +
	`no tests ran|[Nn]o tests (?:were )?found|no test specified|can only install packages|ENOENT|` +
	`does not contain main module|go\.mod file not found|missing go\.sum entry|could not find .?Cargo\.toml|` +
	`no makefile found|No rule to make target|[Mm]issing script|[Nn]o such file|[Cc]an(?:no|')t open|` +
	`command not found|: not found`)

// checkCopy makes a check in a copy of the project that has the old versions of files.
func (t *attempt) checkCopy(ctx context.Context, c restingCheck, old []changedFile) (e check.Evidence, err error) {
	dir, err := os.MkdirTemp(t.turn.Env["TMPDIR"], copyName)
	if err != nil {
		return e, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the slot's directory is emptied as well
	to := filepath.Join(dir, "project")
	if err := t.copyProject(ctx, to, old); err != nil {
		return e, err
	}
	at := t.place(filepath.Join(to, filepath.FromSlash(c.Dir)), dir)
	seen, err := check.Run(ctx, at, []plan.Check{c.Check})
	return seen[0], err
}

func (t *attempt) copyProject(ctx context.Context, to string, old []changedFile) error {
	root, entries, size := t.req.CheckFiles.root(t.req.Dir), 0, int64(0)
	ctx, cancel := context.WithTimeoutCause(ctx, copyTime, errCopyTime)
	defer cancel()
	err := safefile.CopyTree(ctx, root, to, func(rel string, d fs.DirEntry) (bool, error) {
		entries++
		rel = filepath.ToSlash(rel)
		switch {
		case entries > maxCopied:
			return false, errTooManyFiles
		case d.Name() == ".git" || loop.IsName(rel) || strings.HasPrefix(d.Name(), copyName): // TMPDIR may be in the project
			return true, nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > maxCopiedBytes {
			return false, errTooManyBytes
		}
		return slices.ContainsFunc(old, func(f changedFile) bool { return f.path == rel }), nil
	})
	for _, f := range old {
		if err == nil {
			err = restoreIn(to, f)
		}
	}
	return err
}

// restoreIn writes the old version of a file into a copy of the project. It follows no link out of the copy.
func restoreIn(dir string, f changedFile) error {
	if f.old.State == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is buffered
	at := filepath.FromSlash(f.path)
	if err := root.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	switch {
	case f.old.State.Link() != "":
		return root.Symlink(f.old.State.Link(), at)
	case f.old.Text == nil:
		return fmt.Errorf("the old version of %s was not kept", f.path)
	}
	return root.WriteFile(at, f.old.Text, f.old.State.Mode())
}
