package cmd

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/run"
	"wavex/internal/safefile"
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
func (o *runOptions) forced(flag string) bool {
	return o.changed(flag) || o.origins[flag].source == fromEnvironment
}

// given reports whether a flag has a value other than its default: by forced, or by a settings file.
func (o *runOptions) given(flag string) bool {
	_, there := o.origins[flag]
	return there || o.changed(flag)
}

// named returns the name of a flag for an error about its value, with the place of the value.
func (o *runOptions) named(flag string) string {
	switch from := o.origins[flag]; from.source {
	case "":
		return "--" + flag
	case fromEnvironment:
		return from.at
	default:
		return from.at + ": " + flag
	}
}

// readSettings applies the environment to the flags of c, and lets o read the settings files once the project
// directory is known.
func (o *runOptions) readSettings(c *cobra.Command) error {
	o.changed = c.Flags().Changed
	o.origins = map[string]origin{}
	if err := applyEnvironment(c.Flags(), settingFlags(c.Root()), o.origins); err != nil {
		return err
	}
	o.settle = func(dir string, to *runOptions) error {
		o.settle = nil
		err := applyFiles(c.Flags(), settingFlags(c.Root()), dir, o.origins, fromProject, fromUser)
		*to = *o
		return err
	}
	o.forgetProject = func(dir string, to *runOptions) error {
		unset(c.Flags(), o.origins, fromProject)
		err := applyFiles(c.Flags(), settingFlags(c.Root()), dir, o.origins, fromUser)
		*to = *o
		return err
	}
	return nil
}

// unset gives the flags with a value of one source their defaults.
func unset(flags *pflag.FlagSet, origins map[string]origin, source string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if origins[f.Name].source != source {
			return
		}
		delete(origins, f.Name)
		if list, ok := f.Value.(pflag.SliceValue); ok {
			_ = list.Replace(nil) // an empty list is valid
		} else {
			_ = f.Value.Set(f.DefValue) // so is the default
		}
	})
}

// readSettingsHere is readSettings for a command that works in the current directory.
func (o *runOptions) readSettingsHere(c *cobra.Command) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if o.settle == nil {
		if err := o.readSettings(c); err != nil {
			return err
		}
	}
	o.forgetProject = nil // the caller may change the options
	return o.settle(dir, o)
}

// settingFlags returns the flags of all commands that run a plan.
func settingFlags(root *cobra.Command) *pflag.FlagSet {
	all := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	for _, c := range root.Commands() {
		if f := c.Flags().Lookup("all"); f != nil && f.Hidden {
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
func applyEnvironment(flags, known *pflag.FlagSet, origins map[string]origin) error {
	vars := map[string]origin{}
	if os.Getenv("WAVEX_CLAUDE") != "" {
		vars["claude"] = origin{fromEnvironment, "WAVEX_CLAUDE"}
	}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(name, settingPrefix)
		if !ours || value == "" {
			continue
		}
		flag := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		if known.Lookup(flag) == nil || name != variable(flag) {
			hint := ""
			if near := similarFlag(known, flag); near != "" {
				hint = "; did you mean " + variable(near) + "?"
			}
			return usage("%s is the variable of no flag of wavex run%s", name, hint)
		}
		vars[flag] = origin{fromEnvironment, name}
	}
	return applyValues(flags, origins, func(flag string) (origin, []string) {
		from, there := vars[flag]
		if !there {
			return from, nil
		}
		return from, []string{os.Getenv(from.at)}
	})
}

// variable returns the name of the environment variable of a flag.
func variable(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// applyFiles gives each flag without a value the one of the first settings file that has it.
func applyFiles(flags, known *pflag.FlagSet, dir string, origins map[string]origin, sources ...string) error {
	files := map[string]string{fromProject: filepath.Join(dir, run.SettingsFile), fromUser: userSettings()}
	for _, source := range sources {
		text, err := safefile.Read(files[source], maxSettings)
		if errors.Is(err, fs.ErrNotExist) || files[source] == "" {
			continue
		}
		if err != nil {
			return usage("reading the settings: %s", err)
		}
		s := settingsFile{path: relativePath(files[source], dir), project: source == fromProject, known: known}
		values, err := s.parse(string(text))
		if err != nil {
			return err
		}
		err = applyValues(flags, origins, func(flag string) (origin, []string) {
			v := values[flag]
			return origin{source, s.at(v.line)}, v.values
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// applyValues sets each flag that neither the command line nor an earlier source has set. find returns the values of a
// flag, or nil.
func applyValues(flags *pflag.FlagSet, origins map[string]origin, find func(flag string) (origin, []string)) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		from, values := find(f.Name)
		if _, earlier := origins[f.Name]; earlier || f.Changed || values == nil || first != nil {
			return
		}
		origins[f.Name] = from
		if err := setValues(f, values); err != nil {
			o := runOptions{origins: origins}
			first = usage("%s %s", o.named(f.Name), err)
		}
	})
	return first
}

// setValues sets a flag without marking it as given. Its error completes a sentence that begins with the flag.
func setValues(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok && len(values) != 1 {
		return list.Replace(values)
	}
	if len(values) != 1 {
		return errors.New("takes one value, not a list")
	}
	err := f.Value.Set(values[0])
	if err == nil {
		return nil
	}
	takes := map[string]string{"int": "a number", "float64": "a number", "duration": "a duration like 2h",
		"bool": "true or false", "intSlice": "numbers"}[f.Value.Type()]
	if choice, ok := f.Value.(*choiceValue); ok {
		takes = "one of " + strings.Join(choice.choices, ", ")
	}
	return errors.New("takes " + cmp.Or(takes, "another value") + ", not " + strconv.Quote(values[0]))
}

// settingKeys returns the names of the flags that a settings file may set, sorted.
func settingKeys(known *pflag.FlagSet) (keys []string) {
	known.VisitAll(func(f *pflag.Flag) {
		if !hasMark(f, onceKey) {
			keys = append(keys, f.Name)
		}
	})
	slices.Sort(keys)
	return keys
}
