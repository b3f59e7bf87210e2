package runner

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

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
	Guards         filetree.Tree `json:"guards,omitempty"`
	Protected      filetree.Tree `json:"protected,omitempty"`
	AfterGuards    filetree.Tree `json:"after_guards,omitempty"`
	AfterProtected filetree.Tree `json:"after_protected,omitempty"`
	// Tree has the files that others have changed since the base, AfterTree those that differ at the end of the attempt.
	Tree      filetree.Tree `json:"tree,omitempty"`
	AfterTree filetree.Tree `json:"after_tree,omitempty"`
	// Made are the files that this attempt or one before it made.
	Made []string `json:"made,omitempty"`
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
	b.mine = l.Made
	b.Guards, b.Protected = b.Guards.With(l.Guards), b.Protected.With(l.Protected)
	if b.tree != nil {
		b.tree = b.tree.With(l.Tree)
	}
	if l.Attempt != t.req.Attempt-1 {
		return b
	}
	b.Guards = b.Guards.With(b.Guards.With(l.AfterGuards).Changes(b.currentGuards(t.req)))
	if b.Protected != nil {
		b.Protected = b.Protected.With(b.Protected.With(l.AfterProtected).Changes(t.req.protected()))
	}
	if b.tree == nil {
		return b
	}
	if now, err := t.list(ctx, b); err == nil {
		adopted := b.tree.With(l.AfterTree).Changes(now)
		t.store().Keep(t.req.root(), adopted, nil, t.isSecret)
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
	l := finalState{Attempt: t.req.Attempt, Guards: first.Guards.Changes(b.Guards),
		Protected:   first.Protected.Changes(b.Protected),
		AfterGuards: b.Guards.Changes(b.currentGuards(t.req))}
	if b.Protected != nil {
		l.AfterProtected = b.Protected.Changes(t.req.protected())
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
		l.Made = b.mine
		for name, state := range l.AfterTree {
			if state != "" && b.tree[name] == "" && !slices.Contains(l.Made, name) {
				l.Made = append(l.Made, name)
			}
		}
	}
	data, err := json.Marshal(l)
	if err == nil {
		_ = safefile.Write(finalStatePath(t.req.Baseline), append(data, '\n'), 0o600)
	}
}

// currentGuards returns the current digests of the guarded files that the base has. The set of guarded
// files may change with the plan.
func (b baseline) currentGuards(req Request) filetree.Tree {
	out := maps.Clone(b.Guards)
	for path, d := range guardDigests(req.Dir, req.Guards) {
		if _, known := out[path]; known {
			out[path] = d
		}
	}
	return out
}
