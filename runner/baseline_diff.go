package runner

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"

	"wavex/internal/filetree"
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
	// Tree has the files that others have changed since the base, AfterTree those that differ at the end of the attempt.
	Tree      filetree.Tree `json:"tree,omitempty"`
	AfterTree filetree.Tree `json:"after_tree,omitempty"`
}

func finalStatePath(base string) string { return filepath.Join(filepath.Dir(base), loop.FinalState) }

// withOutsideChanges returns the base with the changes that others made after the previous attempt. Without a
// final state of that attempt it adopts no change.
func (b baseline) withOutsideChanges(ctx context.Context, t *attempt) baseline {
	var l finalState
	data, err := safefile.Read(finalStatePath(t.req.Baseline), maxBaseline)
	if err != nil || json.Unmarshal(data, &l) != nil { // missing or cut off
		l = finalState{}
	}
	b.Guards, b.Protected = overlay(b.Guards, l.Guards), overlay(b.Protected, l.Protected)
	if b.tree != nil {
		b.tree = b.tree.With(l.Tree)
	}
	if l.Attempt != t.req.Attempt-1 {
		return b
	}
	b.Guards = adoptChanges(b.Guards, overlay(b.Guards, l.AfterGuards), b.currentGuards(t.req))
	if b.Protected != nil {
		b.Protected = adoptChanges(b.Protected, overlay(b.Protected, l.AfterProtected), t.req.Protect.digests(t.req.Dir))
	}
	if b.tree == nil {
		return b
	}
	if now, err := t.list(ctx, b); err == nil {
		adopted := b.tree.With(l.AfterTree).Changes(now)
		t.store().Keep(t.req.Trees.root(t.req.Dir), adopted, nil, t.isSecret)
		b.tree = b.tree.With(adopted)
	}
	return b
}

// saveFinalState stores the state in which the attempt leaves the files. first is the base as it was taken. If
// saveFinalState fails, a later attempt is compared with the base.
func (b baseline) saveFinalState(first baseline, t *attempt) {
	if t.req.Baseline == "" || t.req.Command != "" || b.tree == nil && (b.Tree != nil || len(b.Guards) == 0 &&
		b.Protected == nil) {
		return
	}
	l := finalState{Attempt: t.req.Attempt, Guards: diffDigests(first.Guards, b.Guards),
		Protected:   diffDigests(first.Protected, b.Protected),
		AfterGuards: diffDigests(b.Guards, b.currentGuards(t.req))}
	if b.Protected != nil {
		l.AfterProtected = diffDigests(b.Protected, t.req.Protect.digests(t.req.Dir))
	}
	if b.tree != nil {
		now, err := t.now, error(nil)
		if now == nil { // the attempt did not get so far
			now, err = t.list(context.Background(), b)
		}
		if err != nil {
			return
		}
		l.Tree, l.AfterTree = first.tree.Changes(b.tree), b.tree.Changes(now)
	}
	data, err := json.Marshal(l)
	if err == nil {
		_ = safefile.Write(finalStatePath(t.req.Baseline), append(data, '\n'), 0o600)
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
func overlay(a, over map[string]string) map[string]string {
	if len(over) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// diffDigests returns the entries of b that differ from a, and "" for those that b lacks.
func diffDigests(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for path, d := range b {
		if was, known := a[path]; !known || was != d {
			out[path] = d
		}
	}
	for path, was := range a {
		if _, there := b[path]; !there && was != "" {
			out[path] = ""
		}
	}
	return out
}

// adoptChanges returns a with the differences between left and now.
func adoptChanges(a, left, now map[string]string) map[string]string {
	return overlay(a, diffDigests(left, now))
}
