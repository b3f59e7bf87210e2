package gitwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file reads git's configuration in one go. It does not know the meaning of a setting.

// settings has the values of git's settings by name, the one that applies last. Names are as git lists them: section
// and variable in lower case.
type settings map[string][]string

// readSettings reads the settings that apply in g's directory.
func (g git) readSettings(ctx context.Context) (settings, error) {
	out, err := g.output(ctx, "config", "--list", "-z")
	all := settings{}
	for _, entry := range splitNUL(out) {
		name, value, set := strings.Cut(entry, "\n")
		if !set {
			value = "true" // [section] name, without a value
		}
		all[name] = append(all[name], value)
	}
	return all, err
}

// value returns the value of a setting, or "" if it is not set.
func (s settings) value(name string) string {
	if all := s[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// matches reports whether a setting begins and ends as given.
func (s settings) matches(prefix, suffix string) bool {
	for name := range s {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// withFiltersOf returns a copy of g whose filters are those of earlier settings: tasks may have changed them since. It
// is an error if that cannot be said to git: it cuts a setting at its first "=", and a filter that got a process has no
// other program any more.
func (g git) withFiltersOf(ctx context.Context, then settings) (git, error) {
	now, err := g.readSettings(ctx)
	names := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(then))
	for _, name := range names {
		if !strings.HasPrefix(name, "filter.") || now.value(name) == then.value(name) {
			continue
		}
		filter, isProcess := strings.CutSuffix(name, ".process")
		if strings.Contains(name, "=") || isProcess && then[name] == nil && then.matches(filter+".", "") {
			return g, fmt.Errorf("git's setting %s was changed in the run; put it back", name)
		}
		g = g.withConfig(name + "=" + then.value(name))
	}
	return g, err
}

// withSync returns a copy of g that has the objects and refs that it writes on disk when it ends, unless the user has
// set otherwise: the journal names them, and is on disk itself.
func (g git) withSync(s settings, version [2]int) git {
	switch {
	case s.value("core.fsync")+s.value("core.fsyncobjectfiles") != "":
		return g
	case slices.Compare(version[:], []int{2, 36}) < 0:
		return g.withConfig("core.fsyncObjectFiles=true")
	}
	return g.withConfig("core.fsync=committed", "core.fsyncMethod=batch")
}

// isTrue reports whether git takes a value as true.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}
