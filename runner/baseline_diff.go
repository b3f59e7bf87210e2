package runner

import (
	"encoding/json"
	"maps"
	"path/filepath"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file tells changes of guarded and protected files by attempts from changes that others make
// between two attempts at a task, for example a person who fixes a test or the plan before a
// resume. It stores the state in which an attempt left those files. A change while an attempt runs
// counts as made by the attempt. After a kill the state is unknown.

// finalState is the state in which an attempt left the guarded and protected files. It is stored beside
// the base and holds only the differences.
type finalState struct {
	Attempt int `json:"attempt"`
	// Guards and Protected replace the digests of the base that others have changed since.
	// AfterGuards and AfterProtected hold the digests at the end of the attempt that differ from
	// those.
	Guards         map[string]string `json:"guards,omitempty"`
	Protected      map[string]string `json:"protected,omitempty"`
	AfterGuards    map[string]string `json:"after_guards,omitempty"`
	AfterProtected map[string]string `json:"after_protected,omitempty"`
	// CheckFiles replace those of the base, and AfterCheckFiles are the ones that differ at the end of the attempt.
	CheckFiles      map[string]checkFile `json:"check_files,omitempty"`
	AfterCheckFiles map[string]checkFile `json:"after_check_files,omitempty"`
	Unknown         map[string]checkFile `json:"unknown,omitempty"` // as in baseline
}

func finalStatePath(base string) string { return filepath.Join(filepath.Dir(base), loop.FinalState) }

// withOutsideChanges returns the base with the changes that others made after the previous attempt. Without a
// final state of that attempt it adopts no change.
func (b baseline) withOutsideChanges(req Request, redact func(string) string) baseline {
	var l finalState
	data, err := safefile.Read(finalStatePath(req.Baseline), maxBaseline)
	if err != nil || json.Unmarshal(data, &l) != nil { // missing or cut off
		l = finalState{}
	}
	b.Guards, b.Protected = overlay(b.Guards, l.Guards), overlay(b.Protected, l.Protected)
	b.CheckFiles, b.unknown = overlay(b.CheckFiles, l.CheckFiles), l.Unknown
	if l.Attempt != req.Attempt-1 {
		if b.CheckFiles != nil {
			b.unknown = diffDigests(b.CheckFiles, req.checkFilesOf(req.restingChecks(true), b.CheckFiles))
		}
		return b
	}
	b.Guards = adoptChanges(b.Guards, overlay(b.Guards, l.AfterGuards), b.currentGuards(req))
	if b.Protected != nil {
		b.Protected = adoptChanges(b.Protected, overlay(b.Protected, l.AfterProtected), req.Protect.digests(req.Dir))
	}
	if b.CheckFiles != nil {
		now := req.checkFilesOf(req.restingChecks(true), b.CheckFiles)
		adopted := diffDigests(overlay(b.CheckFiles, l.AfterCheckFiles), now)
		req.keepCheckFiles(adopted, redact)
		b.CheckFiles = overlay(b.CheckFiles, adopted)
	}
	return b
}

// saveFinalState stores the state in which the attempt leaves the files. first is the base as it was taken; after holds
// the files on which checks rest, or is nil to look. If saveFinalState fails, a later attempt is compared with the
// base.
func (b baseline) saveFinalState(first baseline, req Request, after map[string]checkFile) {
	if req.Baseline == "" || req.Command != "" || len(b.Guards) == 0 && b.Protected == nil &&
		len(b.CheckFiles) == 0 {
		return
	}
	l := finalState{Attempt: req.Attempt, Unknown: b.unknown, Guards: diffDigests(first.Guards, b.Guards),
		Protected:   diffDigests(first.Protected, b.Protected),
		AfterGuards: diffDigests(b.Guards, b.currentGuards(req))}
	if b.Protected != nil {
		l.AfterProtected = diffDigests(b.Protected, req.Protect.digests(req.Dir))
	}
	if b.CheckFiles != nil {
		l.CheckFiles = diffDigests(first.CheckFiles, b.CheckFiles)
		if after == nil {
			after = req.checkFilesOf(req.restingChecks(true), b.CheckFiles)
		}
		l.AfterCheckFiles = diffDigests(b.CheckFiles, after)
	}
	data, err := json.Marshal(l)
	if err == nil {
		_ = safefile.Write(finalStatePath(req.Baseline), append(data, '\n'), 0o600)
	}
}

// currentGuards returns the current digests of the guarded files that the base has. The set of guarded
// files may change with the plan.
func (b baseline) currentGuards(req Request) map[string]string {
	out := maps.Clone(b.Guards)
	for path, d := range guardDigests(req.Dir, req.Guards) {
		if _, known := out[path]; known {
			out[path] = d
		}
	}
	return out
}

// overlay returns a with the entries of over, which win.
func overlay[V any](a, over map[string]V) map[string]V {
	if len(over) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, over)
	return out
}

// diffDigests returns the entries of b that differ from a, and zero values for those that b lacks.
func diffDigests[V comparable](a, b map[string]V) map[string]V {
	var none V
	out := map[string]V{}
	for path, d := range b {
		if was, known := a[path]; !known || was != d {
			out[path] = d
		}
	}
	for path, was := range a {
		if _, there := b[path]; !there && was != none {
			out[path] = none
		}
	}
	return out
}

// adoptChanges returns a with the differences between left and now.
func adoptChanges(a, left, now map[string]string) map[string]string {
	return overlay(a, diffDigests(left, now))
}
