package runner

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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

// Protect names the files that no task of the plan may change.
type Protect struct {
	// Patterns are path.Match patterns for paths of the project. A pattern that matches a folder
	// matches all files in it.
	Patterns []string `json:"patterns"`
	Under    string   `json:"under,omitempty"` // the path of Dir in the project, slash-separated; "": Dir is the project
}

// maxProtected bounds the number of protected files.
const maxProtected = 20_000

// digests returns the digests of the protected files, by their path in the project.
func (p *Protect) digests(dir string) filetree.Tree {
	if p == nil || len(p.Patterns) == 0 {
		return nil
	}
	root := p.root(dir)
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
		case d.IsDir() || !policy.Matches(p.Patterns, rel):
			return nil
		case len(out) >= maxProtected:
			return fs.SkipAll
		}
		out[rel] = filetree.State(FileDigest(root, rel))
		return nil
	})
	return out
}

// root returns the project's directory for an attempt that works in dir.
func (p *Protect) root(dir string) string { return projectRoot(dir, p.Under) }

// projectRoot returns the project's directory, of which dir is the folder under, slash-separated; "" and ".": dir
// itself.
func projectRoot(dir, under string) string {
	if under != "" && under != "." {
		for range strings.Split(under, "/") {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// changedProtected returns at most ten protected files that differ from the base.
func (b baseline) changedProtected(p *Protect, dir string) []string {
	if p == nil || len(p.Patterns) == 0 || b.Protected == nil {
		return nil
	}
	out := slices.Sorted(maps.Keys(b.Protected.Changes(p.digests(dir))))
	return out[:min(len(out), 10)]
}
