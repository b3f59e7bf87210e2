package runner

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// This file notices an attempt that changes what it is judged by: checks' own files, the
// plan, wavex's files, and what the plan protects. It knows no other attempt: in a shared
// directory what one changes is also seen by those that run beside it.

// Guard is a file that an attempt has no business with.
type Guard struct {
	Path string `json:"path"` // relative to Dir, slash-separated
	Why  string `json:"why"`  // "a check of T-002 runs it"
	Own  bool   `json:"own,omitempty"`
	// Tools says that only the agent's editing tools count, on the path or below it:
	// others may change it at the same time.
	Tools bool `json:"tools,omitempty"`
}

// Tamper is a guarded file that an attempt changed.
type Tamper struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	Own  bool   `json:"own,omitempty"` // the attempt's own checks rest on it
}

// tampered lists the guarded files that were changed.
func (b base) tampered(dir string, guards []Guard, touched []string) []Tamper {
	var out []Tamper
	for _, g := range guards {
		changed := slices.ContainsFunc(touched, func(p string) bool { return p == g.Path || strings.HasPrefix(p, g.Path+"/") })
		if !g.Tools && !changed {
			was, known := b.Guards[g.Path]
			changed = known && fileDigest(dir, g.Path) != was
		}
		if changed {
			out = append(out, Tamper{g.Path, g.Why, g.Own})
		}
	}
	return out
}

func guardDigests(dir string, guards []Guard) map[string]string {
	out := map[string]string{}
	for _, g := range guards {
		if !g.Tools {
			out[g.Path] = fileDigest(dir, g.Path)
		}
	}
	return out
}

// Protect is what the plan lets no task change.
type Protect struct {
	// Patterns are of path.Match, on paths of the project; what matches a folder matches all
	// in it.
	Patterns []string `json:"patterns"`
	Under    string   `json:"under,omitempty"` // where Dir is in the project, slash-separated; "": it is the project
}

// maxProtected bounds how many files are looked at.
const maxProtected = 20_000

// digests identifies what is protected, by path of the project.
func (p *Protect) digests(dir string) map[string]string {
	if p == nil || len(p.Patterns) == 0 {
		return nil
	}
	root := dir
	if p.Under != "" && p.Under != "." {
		for range strings.Split(p.Under, "/") {
			root = filepath.Dir(root)
		}
	}
	out := map[string]string{}
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, at)
		if err != nil || rerr != nil {
			return nil // what cannot be read cannot be compared
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || rel == ".loop"):
			return fs.SkipDir
		case d.IsDir() || !p.matches(rel):
			return nil
		case len(out) >= maxProtected:
			return fs.SkipAll
		}
		out[rel] = fileDigest(root, rel)
		return nil
	})
	return out
}

func (p *Protect) matches(rel string) bool {
	for _, pattern := range p.Patterns {
		for part := rel; part != "." && part != "/" && part != ""; part = path.Dir(part) {
			if ok, err := path.Match(pattern, part); err != nil || ok || pattern == "." {
				return true // what cannot be read protects everything
			}
		}
	}
	return false
}

// broken lists the protected files that are not what they were, at most ten.
func (b base) broken(p *Protect, dir string) []string {
	if p == nil || len(p.Patterns) == 0 || b.Protected == nil {
		return nil
	}
	now := p.digests(dir)
	var out []string
	for path, was := range b.Protected {
		if now[path] != was {
			out = append(out, path)
		}
	}
	for path := range now {
		if _, known := b.Protected[path]; !known {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 10)]
}
