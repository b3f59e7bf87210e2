package proc

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Environ returns the environment of a child: the allowed variables of the parent, then add,
// which overrides them and is never filtered. The result is sorted, with each name once (the
// parent's last value, as a program would see it).
//
// The variables that a program needs for its tools, its home, its network and the credentials of
// the agent pass. Marks of a session that wavex itself may run in never pass, nor do variables
// that are not listed. So a project's own secrets (tokens of the CI, a database's address) reach
// neither agent nor checks, unless the user passes them: see Inherit.
func Environ(parent []string, add map[string]string) []string {
	return Inherit(parent, nil).With(add)
}

// Inherited holds the variables that children may inherit from a parent's environment, computed
// once for many children. It is immutable; the zero value has none.
type Inherited struct {
	vars []string // sorted
	fold bool     // names of variables are case-insensitive
}

// Inherit returns the variables of a parent's environment that pass by the rules of Environ. pass are more allowed
// names: "NAME", or "PREFIX*". It still refuses marks of nesting; only With can set them.
func Inherit(parent, pass []string) Inherited {
	return inherit(parent, pass, runtime.GOOS == "windows")
}

// inherit takes the case rule as an argument: names of variables are case-insensitive on Windows.
func inherit(parent, pass []string, fold bool) Inherited {
	no, yes := nameSets()
	if fold {
		no, yes = newNameSet(denied, true), newNameSet(allowed, true)
	}
	more := newNameSet(pass, fold)
	vals := map[string]string{}
	for _, kv := range parent {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		k := foldCase(name, fold)
		if no.has(k) || !yes.has(k) && !more.has(k) {
			continue
		}
		vals[k] = kv
	}
	return Inherited{vars: slices.Sorted(maps.Values(vals)), fold: fold}
}

// With returns the environment with add, which overrides inherited variables.
func (i Inherited) With(add map[string]string) []string {
	names, ours := add, make([]string, 0, len(add))
	if i.fold { // keep one of two that differ by case
		names = make(map[string]string, len(add))
		for name, v := range add {
			names[foldCase(name, true)] = name + "=" + v
		}
		ours = slices.AppendSeq(ours, maps.Values(names))
	} else {
		for name, v := range add {
			ours = append(ours, name+"="+v)
		}
	}
	slices.Sort(ours)
	out := make([]string, 0, len(i.vars)+len(ours))
	for _, kv := range i.vars {
		name, _, _ := strings.Cut(kv, "=")
		if _, theirs := names[foldCase(name, i.fold)]; theirs {
			continue
		}
		for len(ours) > 0 && ours[0] < kv {
			out, ours = append(out, ours[0]), ours[1:]
		}
		out = append(out, kv)
	}
	return append(out, ours...)
}

func foldCase(name string, fold bool) string {
	if fold {
		return strings.ToUpper(name)
	}
	return name
}

// nameSets returns never and allowed as case-sensitive names, made once because a large plan needs
// thousands of environments.
var nameSets = sync.OnceValues(func() (no, yes nameSet) {
	return newNameSet(denied, false),
		newNameSet(allowed, false)
})

// nameSet is a list of names and PREFIX* patterns, prepared for many lookups.
type nameSet struct {
	exact    map[string]bool
	prefixes []string
}

func newNameSet(list []string, fold bool) nameSet {
	n := nameSet{exact: make(map[string]bool, len(list))}
	for _, pat := range list {
		if fold {
			pat = strings.ToUpper(pat)
		}
		if prefix, ok := strings.CutSuffix(pat, "*"); ok {
			n.prefixes = append(n.prefixes, prefix)
		} else {
			n.exact[pat] = true
		}
	}
	return n
}

func (n nameSet) has(name string) bool {
	return n.exact[name] || slices.ContainsFunc(n.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// sameVar reports whether two names of variables are equal on this platform.
func sameVar(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
