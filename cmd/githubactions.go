package cmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/report"
)

// This file reports the end of a run to a CI system in the system's own form. It supports GitHub
// Actions. On other systems, --report writes files.

// onGitHub reports whether this is a job of GitHub Actions.
func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// reportToGitHub writes annotations to stderr, which the Actions runner reads like stdout. It appends
// to the step's summary and outputs if the runner set files for them.
func (r *invocation) reportToGitHub(sum *report.Summary) error {
	fmt.Fprint(r.std.Err, r.secrets.String(sum.Annotations(repoPath(sum.Plan))))
	if err := r.appendToEnvFile("GITHUB_STEP_SUMMARY", sum.Markdown()); err != nil {
		return err
	}
	return r.appendToEnvFile("GITHUB_OUTPUT", sum.Outputs())
}

func (r *invocation) appendToEnvFile(variable, text string) error {
	path := os.Getenv(variable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	_, err = f.WriteString(r.secrets.String(text))
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// repoPath returns path relative to the checkout, as GitHub expects it.
func repoPath(path string) string {
	if root := os.Getenv("GITHUB_WORKSPACE"); root != "" {
		if abs, err := filepath.Abs(path); err == nil && relativePath(abs, root) != abs {
			path = relativePath(abs, root)
		}
	}
	return filepath.ToSlash(path)
}
