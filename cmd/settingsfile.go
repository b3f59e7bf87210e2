package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"wavex/internal/plan/source"
)

// This file reads a settings file: a YAML mapping from names of flags to values. It refuses keys that no file may
// have, and keys that would widen the rights of a run in the file of a project, which comes with foreign work.

// settingsFile is a settings file under the parser.
type settingsFile struct {
	path    string // for messages
	project bool
	known   *pflag.FlagSet // flags of all commands that run a plan
	lines   []string
	yaml    *source.Tree
}

// fileValue is the value of a key in a settings file.
type fileValue struct {
	values   []string // of a scalar: one
	line     int
	loopsOff bool // it is auto_loop: false
}

// otherKeys maps keys of other programs, below "loop" or by themselves, to flags. Those below "policy" are flags
// without "policy-".
var otherKeys = map[string]string{"execute_max_retries": "max-retries", "verify_max_iterations": "max-fix-rounds",
	"auto_loop": "mode"}

// planKeys are words for rights that only a plan has.
var planKeys = []string{"permission", "policy", "allowed-tools", "allowedtools", "disallowed"}

// at returns the place of a line.
func (s *settingsFile) at(line int) string { return fmt.Sprintf("%s:%d", s.path, line) }

func (s *settingsFile) refuse(t source.Token, format string, args ...any) error {
	return usage("%s: %s", s.at(s.yaml.Pos(t.At).Line), fmt.Sprintf(format, args...))
}

// parse returns the values of a file by the names of their flags.
func (s *settingsFile) parse(text string) (map[string]fileValue, error) {
	values := map[string]fileValue{}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text) // each is one line of YAML
	s.lines, s.yaml = strings.Split(text, "\n"), source.NewYAML(text)
	if p := s.yaml.Problem(); p != nil && p.Code == source.CodeEmptyPlan {
		return values, nil
	}
	t := s.yaml.Next()
	if t.Kind != source.KindObject && s.yaml.Problem() == nil {
		return nil, s.refuse(t, "the file has %s; settings are lines like max-retries: 2", t.Kind)
	}
	err := s.object("", values)
	if p := s.yaml.Problem(); p != nil {
		return nil, usage("%s: %s", s.at(max(1, s.yaml.Pos(p.At).Line)), p.Message)
	}
	return values, err
}

// object reads the rest of a mapping: the file, or the one of the key "loop".
func (s *settingsFile) object(under string, values map[string]fileValue) error {
	for {
		key := s.yaml.Next()
		if key.Kind != source.KindString {
			return nil // the end, or a problem, which parse reports
		}
		t := s.yaml.Next()
		if under == "" && (key.Text == "loop" || key.Text == "policy") && t.Kind == source.KindObject {
			if err := s.object(key.Text, values); err != nil {
				return err
			}
			continue
		}
		flag, err := s.flag(key, under)
		if err != nil {
			return err
		}
		if _, twice := values[flag.Name]; twice {
			return s.refuse(key, "%s is set twice", flag.Name)
		}
		v := fileValue{line: s.yaml.Pos(key.At).Line}
		if v.values, err = s.values(key, t); err != nil {
			return err
		}
		if key.Text == "auto_loop" {
			is := map[string]string{"true": "yolo", "false": "interactive"}
			v.loopsOff = strings.Join(v.values, " ") == "false"
			v.values = []string{cmp.Or(is[strings.Join(v.values, " ")], strings.Join(v.values, " "))}
		}
		if at := s.yaml.Pos(t.At); t.Kind == source.KindNumber && at.Line > 0 &&
			strings.HasPrefix(s.lines[at.Line-1][at.Column-1:], "+") {
			v.values = []string{"+" + t.Text} // YAML takes +10 for 10
		}
		if err := s.checkValues(key, flag, v.values); err != nil {
			return err
		}
		values[flag.Name] = v
	}
}

// flag returns the flag of a key, or an error with the way out.
func (s *settingsFile) flag(key source.Token, under string) (*pflag.Flag, error) {
	name := key.Text
	if other := otherKeys[name]; other != "" {
		name = other
	}
	if under == "policy" {
		if name = "policy-" + key.Text; !slices.Contains(policyFields, key.Text) {
			return nil, s.refuse(key, "unknown key policy.%s; policy has %s", key.Text, strings.Join(policyFields, ", "))
		}
	}
	f := s.known.Lookup(name)
	switch {
	case under == "loop" && otherKeys[key.Text] == "":
		return nil, s.refuse(key, "unknown key loop.%s; loop has execute_max_retries, verify_max_iterations, auto_loop",
			key.Text)
	case f == nil && findSetting(name, nil).fleet:
		return &pflag.Flag{Name: name}, nil // of no effect; the whole wavex has the same settings
	case f == nil:
		for _, word := range planKeys {
			if strings.Contains(strings.ToLower(name), word) {
				return nil, s.refuse(key, "%s is no setting: the rights of agents are fields of the plan (docs/plan.md)", name)
			}
		}
		if near := similarFlag(s.known, name); near != "" {
			return nil, s.refuse(key, "unknown key %s; did you mean %s?", source.Quote(name), near)
		}
		return nil, s.refuse(key, "unknown key %s; wavex config lists the keys", source.Quote(name))
	case classOf(name) == once:
		return nil, s.refuse(key, "%s is a choice for one run; give it as a flag: --%s", name, name)
	case s.project && classOf(name) != free && classOf(name) != told:
		return nil, s.refuse(key, "a project must not set %s; %s", name, wayOut(name))
	}
	return f, nil
}

// wayOut says where a value may stand that a project must not have.
func wayOut(flag string) string {
	how := flagName(flag, nil)
	set(how == flag, &how, variable(flag))
	return "give it as " + how + ", or in " + cmp.Or(userSettings(), "your own settings")
}

// values reads the value that begins with t.
func (s *settingsFile) values(key, t source.Token) ([]string, error) {
	switch t.Kind {
	case source.KindString, source.KindNumber, source.KindBool:
		return []string{t.Text}, nil
	case source.KindArray:
		list := []string{}
		for t = s.yaml.Next(); t.Kind != source.KindEnd; t = s.yaml.Next() {
			switch t.Kind {
			case source.KindString, source.KindNumber, source.KindBool:
				list = append(list, t.Text)
			default:
				return nil, s.refuse(key, "%s takes plain values", key.Text)
			}
		}
		return list, nil
	case source.KindNull:
		return nil, s.refuse(key, "%s has no value", key.Text)
	case source.KindBad: // parse reports the problem
		return nil, fmt.Errorf("reading %s", key.Text)
	}
	return nil, s.refuse(key, "%s takes a value, not %s", key.Text, t.Kind)
}

// checkValues refuses values that only a flag may have, values with which a project would widen a run, and invalid
// patterns of calls, also if the plan's own list replaces them.
func (s *settingsFile) checkValues(key source.Token, f *pflag.Flag, values []string) error {
	for _, v := range values {
		if slices.Contains(patternFlags, f.Name) {
			if err := checkPattern(v); err != nil {
				return s.refuse(key, "%s: %s", f.Name, err)
			}
		}
		what := ""
		switch {
		case flagGroup(f) == "Limits" && strings.HasPrefix(v, "+"):
			return s.refuse(key, "%s takes a value, not %s, which raises the value of a run", f.Name, v)
		case flagGroup(f) == "Limits" && (v == "none" || v == "unlimited"):
			what = "lift a limit"
		case f.Name == "deliver" && (v == "push" || v == "pr"):
			what = "send work out of the machine"
		}
		if s.project && what != "" {
			return s.refuse(key, "a project must not %s: %s: %s; %s", what, f.Name, v, wayOut(f.Name))
		}
	}
	return nil
}

// class says which settings files may have a flag.
type class string

const (
	free     class = "free"      // every file
	told     class = "told"      // every file; a new run says what the project's has, since it weakens a check or a limit
	userOnly class = "user only" // not the project's, with which it would widen the rights of a run
	once     class = "one run"   // none: the flag is a choice for one run
)

// classes lists the flags of each class that are not settings of a run. docs/settings.md has the table of all.
var classes = map[class]string{free: "workflow", told: "max-fix-rounds shape",
	once: "fix force fresh gaps only set spec-score task-list"}

// classOf returns the class of a flag, or "" if it has none: then no project may set it.
func classOf(flag string) class {
	if row := findSetting(flag, nil); row.name != "" {
		return row.class
	}
	for c, names := range classes {
		if slices.Contains(strings.Fields(names), flag) {
			return c
		}
	}
	return ""
}
