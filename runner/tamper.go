package runner

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/policy"
)

// This file detects attempts that change the plan, wavex's files, or the files that the plan protects. In a shared
// directory, a change by one attempt is also reported for the attempts that run at the same time.

// Guard is a file that an attempt should not change.
type Guard struct {
	Path string `json:"path"` // relative to Dir, slash-separated
	Why  string `json:"why"`  // "a check of T-002 runs it"
}

// Tamper is a guarded file that an attempt changed.
type Tamper struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// String returns the file and the reason why it is guarded.
func (t Tamper) String() string { return t.Path + ": " + t.Why }

// WhyPlan is Guard.Why of the plan's file, which may have more than one path.
const WhyPlan = "it is the plan"

// WhyPlanCopy is Guard.Why of the plan in the attempt's own tree, which the run does not read.
const WhyPlanCopy = "it is the plan in its own tree"

// WhySettings is Guard.Why of the settings file in the project directory, and WhyCLI that of the CLI's own.
const (
	WhySettings = "it has the settings of later runs"
	WhyCLI      = "it has the CLI's own rules"
)

// MergeTampers returns a with the entries of b that it lacks.
func MergeTampers(a, b []Tamper) []Tamper {
	for _, t := range b {
		if !slices.ContainsFunc(a, func(o Tamper) bool { return o.Path == t.Path || o.Why == WhyPlan && t.Why == WhyPlan }) {
			a = append(a, t)
		}
	}
	return a
}

// tampered returns the guarded files that were changed.
func (b baseline) tampered(dir string, guards []Guard) []Tamper {
	var out []Tamper
	for _, g := range guards {
		if was, known := b.Guards[g.Path]; known && FileDigest(dir, g.Path) != string(was) {
			out = append(out, Tamper(g))
		}
	}
	return out
}

func guardDigests(dir string, guards []Guard) filetree.Tree {
	out := filetree.Tree{}
	for _, g := range guards {
		out[g.Path] = filetree.State(FileDigest(dir, g.Path))
	}
	return out
}

// maxProtected bounds the number of protected files.
const maxProtected = 20_000

// protected returns the digests of the protected files, by their path in the project; nil: the plan protects none.
func (r *Request) protected() filetree.Tree {
	if len(r.Protect) == 0 {
		return nil
	}
	root := r.root()
	out := filetree.Tree{}
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, at)
		if err != nil || rerr != nil {
			return nil // files that cannot be read cannot be compared
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || rel == loop.Name):
			return fs.SkipDir
		case d.IsDir() || !policy.Matches(r.Protect, rel):
			return nil
		case len(out) >= maxProtected:
			return fs.SkipAll
		}
		out[rel] = filetree.State(FileDigest(root, rel))
		return nil
	})
	return out
}

// changedProtected returns at most ten protected files that differ from the base.
func (b baseline) changedProtected(r *Request) []string {
	if len(r.Protect) == 0 || b.Protected == nil {
		return nil
	}
	out := slices.Sorted(maps.Keys(b.Protected.Changes(r.protected())))
	return out[:min(len(out), 10)]
}
