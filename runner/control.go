package runner

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"wavex/internal/check"
	"wavex/internal/filetree"
)

// This file makes the control: the checks that passed run once more in a copy of the project in which the files that
// the task did not declare are as they were before. If they fail there, the pass rests on these files.

// control makes the control, and stores in the result on which files the pass rests, or why it cannot tell.
func (t *attempt) control(ctx context.Context, before baseline) error {
	t.res.Rests, t.res.Doubt = nil, ""
	if t.req.Trees == nil || t.req.Command != "" || len(t.req.Checks) == 0 {
		return nil
	}
	surplus := t.suspects(before)
	if t.uncompared != "" || len(surplus) == 0 {
		t.res.Doubt = t.uncompared
		return t.confirm(ctx, before)
	}
	t.observe("checking", "without the changes that the task did not declare")
	green := func(back []string) (bool, error) { return t.green(ctx, before, back) }
	var work []string
	if !before.Vacuous {
		work = append([]string{}, slices.Concat(t.surplus, t.own)...) // not nil: they are known
	}
	var rests []string
	rests, t.res.Doubt = Rests(surplus, work, t.turn.Settings.Timeout/3, green)
	for _, file := range rests {
		t.res.Rests = append(t.res.Rests, t.req.relative(file))
	}
	return context.Cause(ctx)
}

// Rests returns the part of the surplus on which a pass of checks rests, at most maxSurplus files, and why it cannot
// tell. green reports whether the checks pass in a copy of the project in which files are as before. The search in the
// surplus ends after a share of time. work has all changed files; nil: these are not known, or the checks passed
// without them.
func Rests(surplus, work []string, share time.Duration,
	green func(back []string) (bool, error)) (files []string, doubt string) {
	began := time.Now()
	ok, err := green(surplus)
	if ok && work == nil {
		return nil, ""
	}
	if ok { // it counts only if the checks see the copy: without the work they fail there, as before
		switch blind, err := green(slices.Concat(surplus, work)); {
		case err != nil:
			doubt = err.Error()
		case blind:
			doubt = "its checks pass in a copy of the project also without the work"
		}
		return nil, doubt
	}
	if err == nil { // the place counts only if the checks pass there with the work as it is
		ok, err = green(nil)
	}
	switch {
	case err != nil:
		doubt = err.Error()
	case !ok:
		doubt = "its checks fail in a copy of the project also with all changes"
	default:
		surplus, doubt = narrow(surplus, began, share, green)
	}
	return surplus[:min(len(surplus), maxSurplus)], doubt
}

// confirm makes the checks twice without the work, in a copy, if they failed before it and are not known to have opened
// a file that it changed: then chance may have made them pass. Checks that pass without the work are flaky. The copy
// has no ignored files, which may be made of the work; where the checks need some, or no copy can be made, nothing is
// confirmed. After a third of the turn's time limit it does not begin again.
func (t *attempt) confirm(ctx context.Context, before baseline) error {
	began := time.Now()
	for run := range 2 {
		late := run > 0 && time.Since(began) > t.turn.Settings.Timeout/3
		if !t.unread || before.Vacuous || before.Unmeasured || late {
			break
		}
		t.observe("checking", "without the work, which they did not read")
		green, err := t.green(ctx, before, slices.Concat(t.surplus, t.own, t.now.Ignored()))
		if err == nil && green {
			t.unread = false
			for i := range t.res.Checks {
				t.res.Checks[i].Flaky = true
			}
		}
	}
	return context.Cause(ctx)
}

// watch watches the changed files while the checks run. The function that it returns stores whether a check may have
// seen the work: it opened such a file, or a file was added, removed or made executable. Where that cannot be known, it
// has not seen the work, but it has seen the ignored files.
func (t *attempt) watch(before baseline) (stop func()) {
	t.unread, t.hiddenRead = false, false
	work, hidden := slices.Concat(t.surplus, t.own), t.hidden[:min(len(t.hidden), maxHidden)]
	plain := len(work) > 0
	for _, file := range work {
		was, now := before.tree[file].Digest(), t.now[file].Digest()
		plain = plain && was != "" && now != "" && was != now
	}
	if !plain {
		work = nil
	}
	if len(work)+len(hidden) == 0 {
		return func() {}
	}
	opened := watchOpens(t.req.root(), slices.Concat(work, hidden))
	return func() {
		seen, known := opened()
		isSeen := func(file string) bool { return seen[file] }
		t.unread = plain && !(known && slices.ContainsFunc(work, isSeen))
		t.hiddenRead = slices.ContainsFunc(hidden, isSeen) || !known && len(hidden) > 0 && runtime.GOOS == "linux"
	}
}

// maxHidden bounds the number of ignored files that are watched.
const maxHidden = 1000

// suspects returns the surplus in the order in which it is looked at. A task that declares no files has no surplus, but
// suspects.
func (t *attempt) suspects(before baseline) []string {
	files := slices.Sorted(slices.Values(t.surplus))
	if len(t.declared()) == 0 {
		files = slices.DeleteFunc(files, func(file string) bool {
			return !IsSuspect(file, before.tree[file] == "" || slices.Contains(before.mine, file))
		})
	}
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(filetree.KindOf(a), filetree.KindOf(b)) })
	if !t.hiddenRead && !t.unread { // a check that opens nothing may look at times
		return files
	}
	return append(files, t.hidden...)
}

// IsSuspect reports whether a changed file is looked at if its task declares no files. Source files are not; a new file
// is only if test runners load it by its name.
func IsSuspect(file string, isNew bool) bool {
	kind := filetree.KindOf(file)
	return kind != filetree.Source && (!isNew || kind == filetree.Setup)
}

// green reports whether the checks pass in a copy in which files are as before.
func (t *attempt) green(ctx context.Context, before baseline, files []string) (ok bool, err error) {
	back := filetree.Tree{}
	for _, file := range slices.Concat(files, t.made) {
		back[file] = before.tree[file]
	}
	err = t.store().InCopy(ctx, t.turn.Env["TMPDIR"], t.req.root(), back, func(project string) error {
		at := check.Place{Dir: filepath.Join(project, filepath.FromSlash(t.req.Settings.Dir)), Env: t.env, Once: true,
			Wrapper: CheckWrapper(t.Wall, project, t.req.Closed)}
		seen, err := at.Run(ctx, t.req.Checks)
		ok = check.Passed(seen)
		return err
	})
	return ok, err
}

// narrow returns the part of the surplus without which the checks fail, after at most log2 of its number of runs in a
// share of time, and why it may be too large. A single file is confirmed: a check may be flaky.
func narrow(surplus []string, began time.Time, share time.Duration,
	green func(back []string) (bool, error)) (part []string, doubt string) {
	part = surplus
	confirmed := false
	for left := max(1, bits.Len(uint(len(surplus)))-1); left > 0 && (len(part) > 1 || !confirmed); left-- {
		if len(part) > 1 && time.Since(began) > share {
			return part, fmt.Sprintf("the search among them ended after %s", share)
		}
		try := part[:(len(part)+1)/2]
		switch ok, err := green(try); {
		case err == nil && !ok:
			part, confirmed = try, true
		case err == nil && len(try) < len(part):
			part = part[len(try):]
		case err == nil && len(surplus) == 1:
			return surplus, "its checks fail and pass on the same files"
		default: // all of the surplus does it, or chance, or there is no copy
			return surplus, ""
		}
	}
	return part, ""
}
