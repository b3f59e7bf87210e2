package run

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/runner"
)

// This file finds the files that tasks must not change because they are judged by them: the scripts
// and files that checks name and no task declares, the plan, and wavex's own folder.

// maxGuardedFiles is the maximum number of guarded files of an attempt.
const maxGuardedFiles = 200

// checkFile is a file that a check names.
type checkFile struct {
	path     string // relative to the project
	task     string // the task of the check
	executed bool   // the check runs it, as a script
}

// guardedFiles returns the files that attempts at a task must not change.
func (r *Session) guardedFiles(p *plan.Plan, i int) []runner.Guard {
	if !r.checkFilesFound {
		r.checkFiles, r.checkFilesFound = findCheckFiles(p, r.config.Dir), true
	}
	t := &p.Tasks[i]
	var out []runner.Guard
	add := func(project, why string, own, tools bool) {
		rel, err := filepath.Rel(filepath.FromSlash(t.SubDir()), filepath.FromSlash(project))
		if err != nil || !filepath.IsLocal(rel) || len(out) >= maxGuardedFiles {
			return
		}
		g := runner.Guard{Path: filepath.ToSlash(rel), Why: why, Own: own, Tools: tools}
		if !slices.ContainsFunc(out, func(o runner.Guard) bool { return o.Path == g.Path && o.Own == g.Own }) {
			out = append(out, g)
		}
	}
	// A task list is not guarded: wavex itself writes to it during the run.
	if rel, err := filepath.Rel(r.config.Dir, planfile.AbsPath(p)); err == nil && filepath.IsLocal(rel) &&
		!planfile.IsList(p.Path) {
		// In the project itself the baseline of an attempt shows every change of it.
		add(filepath.ToSlash(rel), runner.WhyPlan, false, r.config.Isolation != event.Isolated)
	}
	add(loop.Name, whyLoopDir, false, true)
	for _, n := range r.checkFiles {
		switch {
		case n.task != t.ID:
			add(n.path, "a check of "+n.task+" names it", false, false)
		case n.executed:
			add(n.path, "its own check runs it", true, false)
		}
	}
	return out
}

// findCheckFiles returns the existing files that checks name. It omits files that a task declares to
// write, since the plan allows that.
func findCheckFiles(p *plan.Plan, project string) []checkFile {
	declared := map[string]bool{}
	for i := range p.Tasks {
		for _, f := range p.Tasks[i].Files {
			if f.Writes() {
				declared[path.Join(p.Tasks[i].SubDir(), f.Path)] = true
			}
		}
	}
	there := map[string]bool{}
	var out []checkFile
	for i := range p.Tasks {
		t := &p.Tasks[i]
		for _, c := range t.Verify {
			words := commandWords(c.Run)
			if c.File != "" {
				words = []commandWord{{c.File, false}}
			}
			for _, w := range words {
				file := path.Join(t.SubDir(), filepath.ToSlash(w.text))
				if declared[file] || !filepath.IsLocal(filepath.FromSlash(file)) {
					continue
				}
				is, known := there[file]
				if !known {
					st, err := os.Stat(filepath.Join(project, filepath.FromSlash(file)))
					is = err == nil && st.Mode().IsRegular()
					there[file] = is
				}
				if n := (checkFile{file, t.ID, w.executed}); is && !slices.Contains(out, n) && len(out) < 10*maxGuardedFiles {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

type commandWord struct {
	text     string
	executed bool // as a program or script
}

// commandWords returns the words of a shell command that may be files. It does not parse the
// shell's language; it only splits at quotes and operators. A word is run if it begins a line or
// follows an operator, apart from assignments and words of the shell, or if it is the first
// argument of an interpreter.
func commandWords(command string) []commandWord {
	interpreters := []string{"sh", "bash", "zsh", "dash", "python", "python3", "node", "ruby", "perl", "deno", "bun",
		"php", "Rscript"}
	shell := []string{"!", "{", "if", "elif", "then", "else", "while", "until", "do", "exec", "time", "env",
		"command", "nohup"}
	var out []commandWord
	first, script := true, false
	for _, f := range strings.FieldsFunc(spaceOperators(command),
		func(r rune) bool { return strings.ContainsRune(" \t\r\"'()<>", r) }) {
		switch {
		case strings.Trim(f, ";&|") == "":
			first, script = true, false
			continue
		case first && (isAssignment(f) || slices.Contains(shell, f)):
			continue
		case strings.HasPrefix(f, "-") || strings.Contains(f, "$"):
		default:
			out = append(out, commandWord{path.Clean(f), first || script})
			script = (first || script) && slices.Contains(interpreters, path.Base(f))
		}
		first = false
	}
	return out
}

// isAssignment reports whether a word sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// spaceOperators puts spaces around the shell's separators, and turns line ends into separators.
func spaceOperators(s string) string {
	s = strings.NewReplacer("\\\n", " ", "\n", ";").Replace(s)
	for _, op := range []string{";", "&", "|"} {
		s = strings.ReplaceAll(s, op, fmt.Sprintf(" %s ", op))
	}
	return s
}

// protectedPaths returns the paths that the plan lets no task change, or nil.
func protectedPaths(p *plan.Plan, t *plan.Task) *runner.Protect {
	if len(p.ProtectPaths) == 0 {
		return nil
	}
	return &runner.Protect{Patterns: p.ProtectPaths, Under: t.SubDir()}
}
