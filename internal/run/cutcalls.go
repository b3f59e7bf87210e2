package run

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/textfmt"
)

// This file finds out about the tool calls that were under way when an earlier wavex was killed, and about the files
// that changed meanwhile.

const (
	maxVisited = 50_000 // files and directories of the search for changed files
	maxListed  = 20     // calls, and changed files
	maxCutCall = 500    // bytes of the text of one call
)

// describeCut returns a text about the calls of an attempt that had no result when wavex was killed, and about the
// files of its directory that changed since, and shows it as a notice; "" if there is no such call.
func (r *Session) describeCut(e event.AttemptStarted) string {
	program, err := agent.Lookup(r.state.Config.Agent)
	if err != nil {
		return ""
	}
	calls, since, err := program.CutCalls(r.config.Loop.Task(r.config.Run, e.Task, loop.Attempt(e.Attempt)))
	if err != nil || len(calls) == 0 {
		return "" // without a stream there is no cost either, which is reported
	}
	var b strings.Builder
	b.WriteString("Calls without a result, which may have run in part:\n")
	for _, c := range calls[:min(len(calls), maxListed)] {
		b.WriteString("- " + textfmt.Shorten(textfmt.Line(r.opts.Redactor.String(c)), maxCutCall) + "\n")
	}
	if i, known := r.state.Index(e.Task); known {
		if dir := r.workspace.Dir(e.Task, r.state.Plan.Tasks[i].WorkDir(r.config.Dir)); dir != "" {
			files := changedSince(dir, since)
			if len(files) == 0 {
				b.WriteString("No file has changed since.")
			} else {
				b.WriteString("Files that have changed since: " + strings.Join(files, ", "))
			}
		}
	}
	r.notice("task " + e.Task + " was cut off. " + b.String())
	return b.String()
}

// changedSince returns the files below a directory that changed at or after a time, the first of them.
func changedSince(dir string, since time.Time) (files []string) {
	visited := 0
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		rel, outside := filepath.Rel(dir, at)
		switch visited++; {
		case err != nil || outside != nil:
			return nil // it is gone, or cannot be read
		case visited > maxVisited || len(files) >= maxListed:
			return fs.SkipAll
		case d.IsDir() && slices.Contains([]string{".git", loop.Name, "node_modules"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git":
			return nil
		}
		if info, err := d.Info(); err == nil && !info.ModTime().Before(since) {
			files = append(files, textfmt.Line(filepath.ToSlash(rel)))
		}
		return nil
	})
	return files
}
