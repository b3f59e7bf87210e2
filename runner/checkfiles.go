package runner

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/checkfiles"
	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// This file keeps the files on which checks rest as they were before a task, and finds those that its attempts changed.

// CheckFiles names the checks of others, on whose files an attempt must not lay hands, and the files that tasks may
// change. Paths are of the project, slash-separated.
type CheckFiles struct {
	Store  string       `json:"store"`           // absolute; the old versions go here, by their digests
	Under  string       `json:"under,omitempty"` // the path of Dir in the project; "": Dir is the project
	Others []OtherCheck `json:"others,omitempty"`
	// Planned are the paths that any task declares to write; those in Busy belong to tasks that may run at the same
	// time in the same directory.
	Planned []string `json:"planned,omitempty"`
	Busy    []string `json:"busy,omitempty"`
}

// OtherCheck is a check of another task or of a criterion.
type OtherCheck struct {
	Owner string     `json:"owner"` // its id
	Dir   string     `json:"dir,omitempty"`
	Check plan.Check `json:"check"`
}

// These bound the old versions that are kept, in bytes.
const (
	maxOldFile = 8 << 20
	maxOldSum  = 128 << 20
)

// checkFile is a file on which a check rests.
type checkFile struct {
	State checkfiles.State `json:"state,omitempty"`
	Kind  checkfiles.Kind  `json:"kind"`
	Other string           `json:"other,omitempty"` // the owner of the check; "": a check of the task itself
}

// restingCheck is a check command with the files on which it rests.
type restingCheck struct {
	OtherCheck
	files map[string]checkfiles.Kind
}

// root returns the project's directory for an attempt that works in dir.
func (c *CheckFiles) root(dir string) string { return projectRoot(dir, c.Under) }

// restingChecks returns the commands that judge the work, first those of the task itself. After a first search, it need
// only find new files.
func (r *Request) restingChecks(again bool) (all []restingCheck) {
	if r.CheckFiles == nil || r.Command != "" {
		return nil
	}
	f := checkfiles.Finder{Root: r.CheckFiles.root(r.Dir), NoHelpers: again}
	seen := map[[2]string]bool{}
	add := func(c OtherCheck) {
		if key := [2]string{c.Dir, c.Check.Run}; c.Check.Run != "" && !seen[key] {
			seen[key] = true
			all = append(all, restingCheck{c, f.Find(c.Dir, c.Check.Run)})
		}
	}
	for _, c := range r.Checks {
		add(OtherCheck{Dir: cmp.Or(r.CheckFiles.Under, "."), Check: c})
	}
	for _, c := range r.CheckFiles.Others {
		c.Dir = cmp.Or(c.Dir, ".")
		add(c)
	}
	return all
}

// checkFilesOf returns the present states of the files on which checks rest, and of those that are known.
func (r *Request) checkFilesOf(checks []restingCheck, known map[string]checkFile) map[string]checkFile {
	out := maps.Clone(known)
	if out == nil {
		out = map[string]checkFile{}
	}
	for _, c := range slices.Backward(checks) { // the task's own checks win
		for file, kind := range c.files {
			out[file] = checkFile{Kind: kind, Other: c.Owner}
		}
	}
	root := ""
	if r.CheckFiles != nil {
		root = r.CheckFiles.root(r.Dir)
	}
	for file, f := range out {
		f.State = checkfiles.StateOf(filepath.Join(root, filepath.FromSlash(file)))
		out[file] = f
	}
	return out
}

// keepCheckFiles stores the contents of files, compressed, that are not stored yet. A file that cannot be stored, or in
// which redact finds a secret, has no old version.
func (r *Request) keepCheckFiles(files map[string]checkFile, redact func(string) string) {
	sum := 0
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	for file, f := range files {
		digest := f.State.Digest()
		if digest == "" || sum > maxOldSum {
			continue
		}
		to := filepath.Join(r.CheckFiles.Store, digest)
		if st, err := os.Lstat(to); err == nil && st.Size() > 0 {
			continue
		}
		text, err := safefile.Read(filepath.Join(r.CheckFiles.root(r.Dir), filepath.FromSlash(file)), maxOldFile)
		if err != nil || redact(string(text)) != string(text) || safefile.MkdirAll(r.CheckFiles.Store, 0o700) != nil {
			continue
		}
		sum += len(text)
		packed.Reset()
		w.Reset(&packed)
		if _, err := w.Write(text); err == nil && w.Close() == nil {
			_ = safefile.Write(to, packed.Bytes(), 0o600) // a part of it has another digest
		}
	}
}

// keptText returns an old version of a file, or nil if there is none.
func (r *Request) keptText(s checkfiles.State) []byte {
	if s.Digest() == "" {
		return nil
	}
	stored, _ := safefile.Read(filepath.Join(r.CheckFiles.Store, s.Digest()), 2*maxOldFile) // else it is no gzip
	packed, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(packed, maxOldFile))
	if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != s.Digest() {
		return nil
	}
	return text
}

// changedFile is a file on which a check rests and that the task changed without declaring it.
type changedFile struct {
	checkFile // of before
	path      string
	now       checkfiles.Version
	old       checkfiles.Version
	what      string // that disabled its tests, or ""
	undecided bool   // it may be the work itself
}

// changedCheckFiles returns the undeclared changes from the base to now, in order of their paths.
func (r *Request) changedCheckFiles(b baseline, now map[string]checkFile) (out []changedFile) {
	if b.CheckFiles == nil {
		return nil
	}
	root := r.CheckFiles.root(r.Dir)
	version := func(file string, s checkfiles.State) checkfiles.Version {
		v := checkfiles.Version{State: s}
		if s.Digest() != "" {
			v.Text, _ = safefile.Read(filepath.Join(root, filepath.FromSlash(file)), maxOldFile) // nil: unknown
		}
		return v
	}
	tests, newTests := map[string]checkfiles.Version{}, []string{}
	for _, file := range slices.Sorted(maps.Keys(now)) {
		f, known := b.CheckFiles[file]
		is := now[file]
		if is.State == f.State {
			continue
		}
		v := version(file, is.State)
		if is.Kind == checkfiles.Test {
			tests[file] = v
		}
		if !known {
			f = checkFile{Kind: is.Kind, Other: is.Other}
			if is.Kind != checkfiles.Setup && !checkfiles.Controls(file, v.Text) {
				newTests = append(newTests, path.Dir(file))
				continue
			}
		}
		c := changedFile{checkFile: f, path: file, now: v,
			old: checkfiles.Version{State: f.State, Text: r.keptText(f.State)}}
		if r.watches(&c) {
			if was, unknown := b.unknown[file]; unknown && was.State == is.State {
				c.undecided = true
			}
			out = append(out, c)
		}
	}
	out = slices.DeleteFunc(out, func(c changedFile) bool {
		return c.now.State == "" && checkfiles.Moved(c.path, c.old.State, tests)
	})
	for i := range out {
		// A new helper of new tests belongs to them.
		beside := []string{path.Dir(out[i].path)}
		if out[i].old.State == "" && slices.ContainsFunc(newTests, func(d string) bool { return declares(beside, d) }) {
			out[i].undecided = true
		}
		out[i].what = checkfiles.Look(out[i].path, out[i].Kind, out[i].old, out[i].now, tests)
	}
	return out
}

// watches reports whether a change of a file counts, and marks one that may be the work.
func (r *Request) watches(c *changedFile) bool {
	var own []string
	for _, p := range plan.Written(r.Files) {
		own = append(own, path.Join(r.CheckFiles.Under, filepath.ToSlash(p)))
	}
	switch {
	case c.now.State.IsDir() && c.old.State.Digest() == "" || declares(own, c.path) || declares(r.CheckFiles.Busy, c.path):
		return false
	case c.Other != "" && (c.Kind == checkfiles.Operand || declares(r.CheckFiles.Planned, c.path)):
		return false
	case c.Kind == checkfiles.Operand && len(own) == 0:
		return false
	}
	c.undecided = c.Kind == checkfiles.Script && len(own) == 0 || c.old.State == "" && isManifest(c.path)
	return true
}

// isManifest reports whether a file describes a project, so that a new one may be the work.
func isManifest(file string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "package.json", "package-lock.json", "yarn.lock",
		"pnpm-lock.yaml", "Cargo.toml", "Cargo.lock", "pom.xml", "build.gradle", "build.gradle.kts", "pyproject.toml",
		"requirements.txt", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile"}, path.Base(file))
}

// declares reports whether a file is one of the paths or below one.
func declares(paths []string, file string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return p == "." || p == file || strings.HasPrefix(file, p+"/")
	})
}
