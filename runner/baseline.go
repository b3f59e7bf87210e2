package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// baseline records the files from before a task's first attempt. It is written once, before any attempt
// can change a file, and is only read afterwards.
type baseline struct {
	Attempt int `json:"attempt,omitempty"` // which took it
	// Files maps declared paths to digests; "" for a file that did not exist. They may be ignored, or directories.
	Files map[string]string `json:"files"`
	// Guards holds the digests of guarded files, Protected those of the files that the plan
	// protects; nil if it protected none.
	Guards    filetree.Tree `json:"guards,omitempty"`
	Protected filetree.Tree `json:"protected,omitzero"`
	// Tree has all files of the project that count; nil: they are not compared.
	Tree *filetree.Kept `json:"tree,omitempty"`
	// Vacuous reports that the task has checks and all of them passed before the first attempt.
	Vacuous bool `json:"vacuous,omitempty"`
	// Checks identifies those checks; "" if wavex did not record it. Other checks of an edited plan run once more.
	Checks string `json:"checks,omitempty"`
	// Suites are the test runners that ended in the outputs of those checks; "" for none.
	Suites []string `json:"suites,omitempty"`
	// Unmeasured reports that the checks were not run, because others edited the directory, or an attempt may have.
	Unmeasured bool `json:"unmeasured,omitempty"`

	tree filetree.Tree // of Tree, with the changes that others made between attempts; nil: unknown
	mine []string      // the files that earlier attempts at the task made
}

// maxBaseline bounds the size of a base file and of a left file when they are read, in bytes.
const maxBaseline = 256 << 20

// openBaseline returns the base of the task. It reads the file of the base, or takes and writes the base if there is no
// file yet. If the request names no file, it does not write the base. It takes a damaged base again, without checks.
func (t *attempt) openBaseline(ctx context.Context) (baseline, error) {
	if len(t.req.Files) == 0 && len(t.req.Checks) == 0 && len(t.req.Guards) == 0 && len(t.req.Protect) == 0 &&
		t.req.Trees == nil {
		return baseline{}, nil
	}
	data, err := safefile.Read(t.req.Baseline, maxBaseline) // "" does not exist
	if errors.Is(err, fs.ErrNotExist) {
		// A worker that was killed leaves work, and takes the base with it.
		return t.newBaseline().measure(ctx, t, t.req.Turn == nil && t.req.WIP == "")
	} else if err != nil {
		return baseline{}, fmt.Errorf("reading the digests of the declared files: %w", err)
	}
	var b baseline
	if json.Unmarshal(data, &b) != nil { // a failure of the machine has damaged it; the files may have work by now
		return t.newBaseline().measure(ctx, t, false)
	}
	if b.Tree != nil && t.req.Trees != nil {
		b.tree, _ = t.store().Get(*b.Tree) // without it the control is not possible
	}
	if b.Checks != "" && b.Checks != checksDigest(t.req.Checks) {
		return b.measure(ctx, t, true)
	}
	return b, nil
}

// isSecret reports whether a content has secrets, which are not kept.
func (t *attempt) isSecret(text []byte) bool {
	return t.Redactor != nil && !bytes.Equal(t.Redactor.Value(text).([]byte), text)
}

func (t *attempt) newBaseline() baseline {
	return baseline{Attempt: t.req.Attempt, Guards: guardDigests(t.req.Dir, t.req.Guards), Protected: t.req.protected()}
}

// measure runs the checks before the work if that is possible now, and writes the base. A new base takes the files
// after the checks, because a file that a check makes is not part of the work.
func (b baseline) measure(ctx context.Context, t *attempt, run bool) (baseline, error) {
	b.Vacuous, b.Unmeasured = false, len(t.req.Checks) > 0
	b.Suites, b.Checks = nil, checksDigest(t.req.Checks)
	if run && len(t.req.Checks) > 0 {
		measured, err := t.directory.Check(ctx, IfQuiet, func() {
			at := t.place()
			at.Once, at.Memory, at.Files = true, t.hooks.Memory, t.filesBefore(ctx)
			evidence, _ := at.Run(ctx, t.req.Checks)
			b.Vacuous = check.Passed(evidence)
			for _, e := range evidence {
				b.Suites = append(b.Suites, check.Suite(e.Output))
			}
			t.endBefore(ctx, evidence)
		})
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return baseline{}, err
		}
		b.Unmeasured = !measured
	}
	if b.Files == nil {
		b.Files = map[string]string{}
		for _, f := range t.req.Files {
			if b.Files[f.Path] = FileDigest(t.req.Dir, f.Path); !run && f.Writes() {
				b.Files[f.Path] = "unknown" // a file that is there counts as work
			}
		}
		if run {
			b.takeTree(ctx, t)
		}
	}
	if t.req.Baseline == "" {
		return b, nil
	}
	data, _ := json.Marshal(b) // plain data
	if err := safefile.MkdirAll(filepath.Dir(t.req.Baseline), 0o700); err != nil {
		return baseline{}, err
	}
	// A partial baseline would fail every later attempt.
	if err := safefile.Replace(t.req.Baseline, append(data, '\n'), 0o600, true); err != nil {
		return baseline{}, fmt.Errorf("writing the digests of the declared files: %w", err)
	}
	return b, nil
}

// takeTree lists and keeps the files of the project. Without a tree the run goes on: the verdict says that the files
// were not compared.
func (b *baseline) takeTree(ctx context.Context, t *attempt) {
	if !t.compares() {
		return
	}
	if t.first == nil {
		t.first, _ = t.list(ctx, baseline{})
	}
	if t.first == nil {
		return
	}
	if kept, err := t.Lister.Put(t.store(), t.first); err == nil {
		t.store().Keep(t.req.root(), t.first, t.inGit, t.isSecret)
		b.Tree, b.tree = &kept, t.first
	}
}

// checksDigest identifies a list of checks.
func checksDigest(checks []plan.Check) string {
	data, _ := json.Marshal(checks) // plain data
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// changed returns the declared files that differ from the base, in their order, and the digests of those
// that a task writes. A file that was declared after the base was taken counts as changed if it exists.
func (b baseline) changed(dir string, files []plan.File) (paths []string, digests map[string]string) {
	for _, f := range files {
		d := FileDigest(dir, f.Path)
		if d != b.Files[f.Path] && !slices.Contains(paths, f.Path) {
			paths = append(paths, f.Path)
		}
		if f.Writes() {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[f.Path] = d
		}
	}
	return paths, digests
}

// FileDigest identifies a file or directory: its contents, permissions to execute and links. "": it is missing.
func FileDigest(dir, path string) string {
	p := absolute(dir, path)
	info, err := os.Stat(p)
	switch {
	case err != nil:
		if target, err := os.Readlink(p); err == nil {
			return "link " + target
		}
		return ""
	case info.IsDir():
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real // WalkDir follows no link
		}
		return treeDigest(p)
	case !info.Mode().IsRegular():
		return "special " + info.Mode().Type().String()
	}
	sum, err := safefile.Digest(safefile.Open(p))
	switch {
	case err != nil:
		return "unreadable"
	case info.Mode()&0o111 != 0:
		return "exec " + sum
	}
	return sum
}

func treeDigest(root string) string {
	h := sha256.New()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		rel, _ := filepath.Rel(root, p) // p is in root
		to, _ := os.Readlink(p)         // "" for others than links
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00", filepath.ToSlash(rel), d.Type(), to)
		if d.Type().IsRegular() {
			sum := FileDigest(root, rel)
			if _, _ = io.WriteString(h, sum); sum == "" || sum == "unreadable" {
				return fs.ErrPermission
			}
		}
		return nil
	})
	if err != nil {
		return "unreadable"
	}
	return "tree " + hex.EncodeToString(h.Sum(nil))
}

// absolute returns a path that may be relative to dir, and slash-separated.
func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// FirstTree returns the files from before the first attempt at a task, whose bases are at a path, and beside it for the
// commits on which it began. nil: they are not known.
func FirstTree(base string, store filetree.Store) filetree.Tree {
	entries, _ := safefile.ReadDir(filepath.Dir(base)) // without them nothing is known
	var first baseline
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), strings.TrimSuffix(filepath.Base(base), "json")) {
			continue
		}
		var b baseline
		data, err := safefile.Read(filepath.Join(filepath.Dir(base), entry.Name()), maxBaseline)
		if err != nil || json.Unmarshal(data, &b) != nil || b.Tree == nil {
			return nil
		}
		if first.Tree == nil || b.Attempt < first.Attempt {
			first = b
		}
	}
	if first.Tree == nil {
		return nil
	}
	tree, _ := store.Get(*first.Tree) // nil
	return tree
}
