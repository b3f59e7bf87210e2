package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/run"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file gives flags of a run their values of the environment and of the settings files: a flag that the user
// gave counts first, then the environment, the plan, the file of the project, the file of the user, the default.
// settingsfile.go reads the files.

// maxSettings bounds a settings file, in bytes.
const maxSettings = 1 << 20

// settingPrefix begins the name of the variable of each flag: WAVEX_OPT_MAX_RETRIES is --max-retries.
const settingPrefix = "WAVEX_OPT_"

// Sources of a value, as wavex config names them.
const (
	fromEnvironment = "environment"
	fromPlan        = "plan"
	fromProject     = "project"
	fromUser        = "user"
	fromDefault     = "default"
)

// origin says where the value of a flag comes from.
type origin struct {
	source string
	at     string // a variable, or FILE:LINE; "" for a default
	// loopsOff is true for a mode that is auto_loop: false.
	loopsOff bool
}

// settings gives the flags of a command their values of the environment and of the settings files.
type settings struct {
	flags   *pflag.FlagSet
	fleet   Fleet
	known   func() *pflag.FlagSet // flags of all commands that run a plan
	origins map[string]origin     // of the flags with a value of the environment, of a file or of a request
	read    []string              // the files that were read, by their sources
	told    []shownSetting        // values of the project's file that a person should know
}

// runSettings returns the settings of a command that runs a plan: its flags, and those without a flag.
func runSettings(c *cobra.Command, o *runOptions) (*settings, error) {
	all := o.otherSettings()
	all.AddFlagSet(c.Flags())
	return newSettings(all, o.fleet)
}

// otherSettings returns the settings without a flag.
func (o *runOptions) otherSettings() *pflag.FlagSet {
	c := &cobra.Command{}
	for _, row := range o.rows {
		if row.group == "" {
			bindSettings(c, o.rows, row.name)
		}
	}
	return c.Flags()
}

// newSettings applies the environment to flags.
func newSettings(flags *pflag.FlagSet, fleet Fleet) (*settings, error) {
	s := &settings{flags: flags, fleet: fleet, origins: map[string]origin{},
		known: sync.OnceValue(func() *pflag.FlagSet { return settingFlags(fleet) })}
	return s, s.applyEnvironment()
}

// userSettings returns the path of the user's settings file, or "" if there is no home.
func userSettings() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "wavex", "config.yaml")
}

// forced reports whether the user gave a flag on the command line or in the environment.
func (s *settings) forced(flag string) bool {
	from, there := s.origins[flag]
	return s.flags.Changed(flag) || there && (from.source == "" || from.source == fromEnvironment)
}

// force sets a flag to a valid value, as the command line would.
func (s *settings) force(flag, to string) {
	_ = s.flags.Lookup(flag).Value.Set(to)
	s.origins[flag] = origin{}
}

// given reports whether a flag has a value other than its default: by forced, or by a settings file.
func (s *settings) given(flag string) bool {
	_, there := s.origins[flag]
	return there || s.flags.Changed(flag)
}

// named returns the name of a flag for an error about its value, with the place of the value.
func (s *settings) named(flag string) string {
	switch from := s.origins[flag]; from.source {
	case "":
		return flagName(flag, s.fleet)
	case fromEnvironment:
		return from.at
	default:
		return from.at + ": " + flag
	}
}

// tell prints what the project's file sets of what a person should know, unless the plan says otherwise.
func (s *settings) tell(planned map[string]string, to io.Writer) {
	var list []string
	for _, v := range s.told {
		if planned[v.Name] == "" {
			list = append(list, v.Name+" "+v.text+" ("+v.At+")")
		}
	}
	if len(list) > 0 {
		fmt.Fprintln(to, "wavex: the project sets "+textfmt.Line(strings.Join(list, ", ")))
	}
}

// settingFlags returns the flags of all commands that run a plan, and the settings without a flag.
func settingFlags(fleet Fleet) *pflag.FlagSet {
	all := newRunOptions(fleet).otherSettings()
	for _, c := range Root(Stdio{Fleet: fleet}).Commands() {
		if hasGroups(c) {
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if flagGroup(f) != "" && !f.Hidden && all.Lookup(f.Name) == nil {
					all.AddFlag(f)
				}
			})
		}
	}
	return all
}

// applyEnvironment gives each flag that the command line left out the value of its variable. An empty variable counts
// as missing. A variable of an unknown flag is an error; one of a flag of another command has no effect.
func (s *settings) applyEnvironment() error {
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(name, settingPrefix)
		flag := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		switch {
		case !ours || value == "" || s.known().Lookup(flag) != nil && name == variable(flag):
			continue
		case findSetting(flag, nil).fleet:
			continue // the whole wavex has the same settings
		}
		hint := ""
		if near := similarFlag(s.known(), flag); near != "" {
			hint = "; did you mean " + variable(near) + "?"
		}
		return usage("%s is the variable of no setting of a run%s", name, hint)
	}
	return s.apply(func(flag string) (origin, []string) {
		from := origin{source: fromEnvironment, at: variable(flag)}
		if (flag == "claude" || flag == "webhook") && os.Getenv(from.at) == "" {
			from.at = "WAVEX_" + strings.ToUpper(flag)
		}
		value := os.Getenv(from.at)
		_, list := s.flags.Lookup(flag).Value.(pflag.SliceValue)
		switch {
		case value == "":
			return origin{}, nil
		case list && classOf(flag) != once:
			return from, strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' })
		}
		return from, []string{value}
	})
}

// variable returns the name of the environment variable of a flag.
func variable(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readUser gives the flags their values of the user's file.
func (s *settings) readUser() error { return s.readFile(fromUser, userSettings(), "", "") }

// readProject gives the flags their values of the file of the project in dir. It is for a new run: an attempt of an
// older one may have written the file.
func (s *settings) readProject(dir string) error {
	return s.readFile(fromProject, filepath.Join(dir, run.SettingsFile), dir, "")
}

// readFile reads a settings file, once, and takes one flag of it, or all if only is "".
func (s *settings) readFile(source, path, dir, only string) error {
	if slices.Contains(s.read, source) || path == "" {
		return nil
	}
	s.read = append(s.read, source)
	text, err := safefile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usage("reading the settings: %s", err)
	}
	file := settingsFile{path: relativePath(path, dir), project: source == fromProject, known: s.known()}
	values, err := file.parse(string(text))
	if err != nil {
		return err
	}
	return s.apply(func(flag string) (origin, []string) {
		v := values[flag]
		if only != "" && flag != only {
			return origin{}, nil
		}
		return origin{source, file.at(v.line), v.loopsOff}, v.values
	})
}

// apply sets each flag that is not forced. find returns the values of a flag, or nil. The file of the user comes before
// that of the project, whose values replace its own.
func (s *settings) apply(find func(flag string) (origin, []string)) error {
	var first error
	s.flags.VisitAll(func(f *pflag.Flag) {
		from, values := find(f.Name)
		if s.forced(f.Name) || values == nil || first != nil {
			return
		}
		s.origins[f.Name] = from
		before := f.Value.String()
		if err := setValues(f, values); err != nil {
			first = usage("%s %s", s.named(f.Name), err)
		}
		if from.source == fromProject && classOf(f.Name) == told && f.Value.String() != before {
			s.told = append(s.told, shownSetting{Name: f.Name, At: from.at, text: strings.Join(values, ", ")})
		}
	})
	return first
}

// setValues sets a flag without marking it as given. Its error completes a sentence that begins with the flag.
func setValues(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		if len(values) != 1 {
			return list.Replace(values)
		}
		_ = list.Replace(nil) // an empty list is valid
	}
	if len(values) != 1 {
		return errors.New("takes one value, not a list")
	}
	err := f.Value.Set(values[0])
	if _, ours := f.Value.(*value); ours || err == nil {
		return err
	}
	takes := map[string]string{"bool": "true or false", "intSlice": "numbers"}[f.Value.Type()]
	return errors.New("takes " + cmp.Or(takes, "another value") + ", not " + strconv.Quote(values[0]))
}

// settingKeys returns the names of the flags that a settings file may set, sorted.
func settingKeys(known *pflag.FlagSet) (keys []string) {
	known.VisitAll(func(f *pflag.Flag) {
		if classOf(f.Name) != once {
			keys = append(keys, f.Name)
		}
	})
	slices.Sort(keys)
	return keys
}
