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
	return environ(parent, pass, add, runtime.GOOS == "windows")
}

// environ has the case rule as an argument: names of variables have no case on Windows.
func environ(parent, pass []string, add map[string]string, fold bool) []string {
	key := func(name string) string {
		if fold {
			return strings.ToUpper(name)
		}
		return name
	}
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
		k := key(name)
		if no.has(k) || !yes.has(k) && !more.has(k) {
			continue
		}
		vals[k] = kv
	}
	for name, v := range add {
		vals[key(name)] = name + "=" + v
	}
	out := slices.Collect(maps.Values(vals))
	slices.Sort(out)
	return out
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
