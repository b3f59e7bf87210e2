package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/report"
)

// This file tells a CI system how a run ended, in the system's own form. It knows GitHub
// Actions; elsewhere, reports are files that --report names.

// onGitHub tells whether the end is told to GitHub Actions.
func (r *launch) onGitHub() bool {
	return r.opts.ci == "github" || r.opts.ci == "auto" && os.Getenv("GITHUB_ACTIONS") == "true"
}

// tellGitHub writes annotations to stderr, which the Actions runner reads as well as
// stdout, and adds to the step's summary and outputs where it has such files.
func (r *launch) tellGitHub(sum *report.Summary) error {
	fmt.Fprint(r.std.Err, r.secrets.String(sum.Annotations(repoPath(sum.Plan))))
	if err := r.appendTo("GITHUB_STEP_SUMMARY", sum.Markdown()); err != nil {
		return err
	}
	return r.appendTo("GITHUB_OUTPUT", sum.Outputs())
}

func (r *launch) appendTo(variable, text string) error {
	path := os.Getenv(variable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	_, err = f.WriteString(r.secrets.String(text))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// repoPath is a file's path as GitHub knows it: relative to the checkout.
func repoPath(path string) string {
	root := os.Getenv("GITHUB_WORKSPACE")
	abs, err := filepath.Abs(path)
	if root == "" || err != nil {
		return filepath.ToSlash(path)
	}
	if rel, err := filepath.Rel(root, abs); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
