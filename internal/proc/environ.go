package proc

import (
	"maps"
	"runtime"
	"slices"
	"strings"
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
	vals := map[string]string{}
	for _, kv := range parent {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		k := key(name)
		if matches(never, k, fold) || !matches(allowed, k, fold) && !matches(pass, k, fold) {
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

// matches tells whether a name is in a list of names and PREFIX* patterns.
func matches(list []string, name string, fold bool) bool {
	return slices.ContainsFunc(list, func(pat string) bool {
		if fold {
			pat = strings.ToUpper(pat)
		}
		if prefix, ok := strings.CutSuffix(pat, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pat
	})
}

// sameVar compares names of variables as the platform does.
func sameVar(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
