package run

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"wavex/internal/loop"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/safefile"
	"wavex/internal/statefiles"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file detects attempts that change the plan or .loop by any means. The runner sees the use of
// editing tools; this file compares the files themselves, and so also detects the work of a shell.
// It knows the files that this wavex writes meanwhile, and omits them. Like the runner it sees that
// a file changed, but not the author.

// tamperDetector compares files before and after an attempt.
type tamperDetector struct {
	loop       loop.Dir
	plan       string                              // its file; "": one that wavex itself writes
	isOwnWrite func(name string, text []byte) bool // reports whether this wavex wrote that text
	moved      func() error                        // an error: all files seem to be gone
	user       *runner.UserFiles
}

func (r *Session) newTamperDetector(files *statefiles.Writer) tamperDetector {
	s := tamperDetector{loop: r.config.Loop, isOwnWrite: files.HasWritten, moved: r.movedError, user: r.user}
	if !planfile.IsList(r.plan.Path) {
		s.plan = r.plan.AbsPath()
	}
	return s
}

// guardUserFiles begins to compare the user's files that outlive the run, for processes with an environment: all, or
// those that a wall does not close. The first run of a user puts them back, until end is called.
func (r *Session) guardUserFiles(env []string) (end func()) {
	project := filepath.Dir(string(r.config.Loop))
	home, _ := os.UserHomeDir()
	if rel, err := filepath.Rel(project, home); r.isElsewhere() || err == nil && filepath.IsLocal(rel) { // all is work
		return func() {}
	}
	lock := flock.New(home, flock.SetFlag(os.O_RDONLY)) // the folder itself: no file is made
	owner, _ := lock.TryLock()                          // without the lock, as on Windows, changes are told only
	r.user = runner.GuardUserFiles(runner.UserFilesOptions{Env: env, Owner: owner, Project: project,
		Closed: r.opts.Wall != nil, Kept: r.config.Loop.Run(r.config.Run, loop.Outside),
		Warn: func(err error) { r.warn(errors.New(textfmt.Line(err.Error()))) }}) // it has names that agents chose
	return func() { _ = lock.Unlock() } // the end of the process does it, too
}

// begin begins to look at an attempt. end adds the files that were changed meanwhile to its result. Those of the user
// are put back before the checks and at the end. An error is a limit of the machine.
func (s tamperDetector) begin(req runner.Request, hooks *runner.Hooks) (end func(*runner.Result), err error) {
	since := len(s.user.Changes(0, 1))
	if len(req.Checks)+len(req.MustNot) > 0 {
		hooks.Worked = func() { s.user.Changes(since, 0) }
	}
	before := s.takeSnapshot(req.Baseline)
	var during []runner.Tamper
	if record := hooks.TurnEnded; record != nil {
		hooks.TurnEnded = func(t runner.Turn) error {
			during, _ = s.findTampers(before, req) // the record itself restores a journal that was removed
			t.Result.Tampered = runner.MergeTampers(t.Result.Tampered, append(s.user.Changes(since, 0), during...))
			return record(t)
		}
	}
	return func(res *runner.Result) {
		found, limited := s.findTampers(before, req)
		res.Tampered = runner.MergeTampers(res.Tampered, slices.Concat(during, found, s.user.Changes(since, -1)))
		if limited != nil && res.Outcome == runner.Done {
			res.Outcome, res.Reason = runner.Broken, proc.ErrorText(limited)
		}
	}, before.limited
}

// findTampers returns the files that have changed since before. The plan's path is relative to the
// attempt's directory, if it is in there. An error means that a limit of the machine hides the changes.
func (s tamperDetector) findTampers(before loopSnapshot, req runner.Request) ([]runner.Tamper, error) {
	after := s.takeSnapshot(req.Baseline)
	if limited := cmp.Or(before.limited, after.limited); limited != nil || s.moved() != nil {
		return nil, limited
	}
	found := s.findChanges(before, after)
	for i, t := range found {
		if rel, err := filepath.Rel(req.Dir, s.plan); t.Why == runner.WhyPlan && err == nil && filepath.IsLocal(rel) {
			found[i].Path = filepath.ToSlash(rel)
		}
	}
	return found, nil
}

const whyLoopDir = "it is wavex's own folder"

// maxFiles is the maximum number of files that are compared, maxRead the number of bytes of each.
const (
	maxFiles = 1_000
	maxRead  = 1 << 20
)

// loopSnapshot is the state of the files at one moment.
type loopSnapshot struct {
	files   map[string]string // digests by path in .loop, slash-separated
	texts   map[string][]byte // of the projections
	plan    string            // digest
	base    string            // digest of the file that the task's changes are compared with
	journal os.FileInfo       // nil: it does not exist
	limited error             // a limit of the machine, such as that of open files, hid a file
}

// note keeps an error of a limit of the machine.
func (l *loopSnapshot) note(err error) {
	if _, limited := proc.LimitOf(err); limited {
		l.limited = err
	}
}

func (s tamperDetector) takeSnapshot(base string) loopSnapshot {
	now := loopSnapshot{files: map[string]string{}, texts: map[string][]byte{}}
	now.plan, now.base = now.fileDigest(s.plan), now.fileDigest(base)
	now.journal, _ = os.Stat(s.loop.Path(loop.Journal)) // nil: it does not exist
	_ = filepath.WalkDir(string(s.loop), func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(string(s.loop), at)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil || rerr != nil:
			now.note(err)
			return nil // unreadable files are not compared
		case d.IsDir() && slices.Contains([]string{loop.Runs, loop.Outputs, loop.Worktrees, loop.HookStreaks}, rel):
			return fs.SkipDir // it changes all the time
		case len(now.files) >= maxFiles:
			return fs.SkipAll
		case slices.Contains(statefiles.Files(), rel):
			now.texts[rel], err = safefile.Read(at, statefiles.MaxFile) // another error shows as a change
			now.note(err)
		case d.Type().IsRegular() && !isVolatile(rel):
			now.files[rel] = now.fileDigest(at)
		}
		return nil
	})
	return now
}

// isVolatile reports whether wavex itself writes the file during an attempt, or writes it to replace such a file.
func isVolatile(rel string) bool {
	if of, next := strings.CutSuffix(rel, ".next"); next && slices.Contains(statefiles.Files(), of) {
		return true
	}
	return slices.Contains([]string{loop.Journal, loop.Lock, loop.LockHolder, loop.WatchdogLock, loop.HookSnapshot,
		loop.HookSnapshot + ".next"}, rel) ||
		strings.HasSuffix(rel, ".bad") || strings.HasPrefix(rel, ".") && rel != loop.Gitignore
}

// findChanges returns the files that differ, except those that this wavex wrote.
func (s tamperDetector) findChanges(before, after loopSnapshot) []runner.Tamper {
	var out []runner.Tamper
	own := func(rel string) { out = append(out, runner.Tamper{Path: loop.Name + "/" + rel, Why: whyLoopDir}) }
	if before.plan != after.plan {
		out = append(out, runner.Tamper{Path: filepath.ToSlash(s.plan), Why: runner.WhyPlan})
	}
	if s.journalChanged(before.journal, after.journal) {
		own(loop.Journal)
	}
	if before.base != "" && before.base != after.base {
		own(loop.Runs)
	}
	for _, rel := range statefiles.Files() {
		text, there := after.texts[rel]
		was, wasThere := before.texts[rel]
		if there != wasThere || !bytes.Equal(text, was) {
			if there && !s.isOwnWrite(rel, text) || !there && wasThere {
				own(rel)
			}
		}
	}
	all := maps.Clone(before.files)
	maps.Copy(all, after.files)
	for _, rel := range slices.Sorted(maps.Keys(all)) {
		if before.files[rel] != after.files[rel] {
			own(rel)
		}
	}
	if len(out) > 2 { // for example after git clean -fdx
		return []runner.Tamper{{Path: loop.Name, Why: whyLoopDir}}
	}
	return out
}

// journalChanged reports whether the journal was replaced or truncated, or has lines that are not
// records. Changes inside it are detected by its checksums when it is read.
func (s tamperDetector) journalChanged(before, after os.FileInfo) bool {
	if before == nil {
		return false
	}
	if after == nil || !os.SameFile(before, after) || after.Size() < before.Size() {
		return true
	}
	f, err := safefile.Open(s.loop.Path(loop.Journal))
	if err != nil {
		_, limited := proc.LimitOf(err)
		return !limited
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.NewSectionReader(f, before.Size(), maxRead))
	return err != nil || !runlog.Valid(text)
}

// fileDigest returns a digest of the first bytes of a file and its size; "" if it does not exist.
func (l *loopSnapshot) fileDigest(path string) string {
	text, err := safefile.ReadHead(path, maxRead)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	l.note(err)
	st, serr := os.Stat(path)
	if err != nil || serr != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x %d", sha256.Sum256(text), st.Size())
}
