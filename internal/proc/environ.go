package proc

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Environ builds the environment of a child: what the lists below allow of the
// parent's, then add, which wins and is never filtered. The result is sorted, each
// name once (the parent's last value, as a program would see it).
//
// The rule: what a program needs to find its tools, its home, its network and the
// credentials of the agent passes; marks of a session that wavex may itself run in
// never do, nor does anything that is not named here. So a project's own secrets
// (tokens of the CI, a database's address) reach neither agent nor checks, unless the
// user passes them with EnvironPass.
func Environ(parent []string, add map[string]string) []string {
	return EnvironPass(parent, nil, add)
}

// EnvironPass is Environ with more names allowed: "NAME", or "PREFIX*". Marks of
// nesting are refused even then; only add can set them.
func EnvironPass(parent, pass []string, add map[string]string) []string {
	return Inherit(parent, pass).With(add)
}

// Inherited is what children may have of a parent's environment, worked out once for many
// of them. It is not changed by use; the zero value has nothing.
type Inherited struct {
	vars []string // sorted
	fold bool     // names of variables have no case
}

// Inherit works out what passes of a parent's environment, as EnvironPass says.
func Inherit(parent, pass []string) Inherited {
	return inherit(parent, pass, runtime.GOOS == "windows")
}

// inherit has the case rule as an argument: names of variables have no case on Windows.
func inherit(parent, pass []string, fold bool) Inherited {
	no, yes := lists()
	if fold {
		no, yes = newNames(never, true), newNames(allowed, true)
	}
	more := newNames(pass, fold)
	vals := map[string]string{}
	for _, kv := range parent {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		k := folded(name, fold)
		if no.has(k) || !yes.has(k) && !more.has(k) {
			continue
		}
		vals[k] = kv
	}
	return Inherited{vars: slices.Sorted(maps.Values(vals)), fold: fold}
}

// With is the environment with more variables in it, which win.
func (i Inherited) With(add map[string]string) []string {
	names, ours := add, make([]string, 0, len(add))
	if i.fold { // of two that differ by case one is left
		names = make(map[string]string, len(add))
		for name, v := range add {
			names[folded(name, true)] = name + "=" + v
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
		if _, theirs := names[folded(name, i.fold)]; theirs {
			continue
		}
		for len(ours) > 0 && ours[0] < kv {
			out, ours = append(out, ours[0]), ours[1:]
		}
		out = append(out, kv)
	}
	return append(out, ours...)
}

func folded(name string, fold bool) string {
	if fold {
		return strings.ToUpper(name)
	}
	return name
}

// lists are never and allowed with the case of their letters, made once: a large plan
// asks for thousands of environments.
var lists = sync.OnceValues(func() (no, yes names) { return newNames(never, false), newNames(allowed, false) })

// names is a list of names and PREFIX* patterns, made for many questions.
type names struct {
	exact    map[string]bool
	prefixes []string
}

func newNames(list []string, fold bool) names {
	n := names{exact: make(map[string]bool, len(list))}
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

func (n names) has(name string) bool {
	return n.exact[name] || slices.ContainsFunc(n.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// sameVar compares names of variables as the platform does.
func sameVar(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
