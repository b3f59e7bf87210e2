package cmd

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/plan"
)

// outputFlag adds --output text|json.
func outputFlag(c *cobra.Command, to *string) {
	choiceFlag(c, to, "output", "text", []string{"text", "json"}, "form of the output")
}

// choiceFlag adds a flag that takes one of the choices.
func choiceFlag[T ~string](c *cobra.Command, to *T, name string, def T, choices []string, help string) {
	*to = def
	choicesFlag(c, choice(to, choices...), name, help)
}

// choicesFlag adds a flag that takes words.
func choicesFlag(c *cobra.Command, v *value, name, help string) {
	completeChoices(c, c.Flags().VarPF(v, name, "", help), v)
}

// completeChoices lets the help and the completion of a flag name the choices.
func completeChoices(c *cobra.Command, f *pflag.Flag, v *value) {
	f.Usage += ": " + strings.Join(v.choices, ", ")
	_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.choices, cobra.ShellCompDirectiveNoFileComp))
}

// helpGroups lists the groups of flags in the help of a command with many flags, in their order.
var helpGroups = []string{"Work", "Limits", "Checks and review", "Result", "Output"}

// groupKey is the key of the annotation of a flag with its group in the help.
const groupKey = "wavex-group"

// groupFlags puts the flags of c that have no group yet into a group of its help.
func groupFlags(c *cobra.Command, group string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if flagGroup(f) == "" {
			f.Annotations = map[string][]string{groupKey: {group}}
		}
	})
}

// hasGroups reports whether each flag of c has a group of the help, as those of commands that run a plan.
func hasGroups(c *cobra.Command) bool {
	some, all := false, true
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			some, all = true, all && flagGroup(f) != ""
		}
	})
	return some && all
}

// flagGroup returns the group of a flag, or "".
func flagGroup(f *pflag.Flag) string { return strings.Join(f.Annotations[groupKey], "") }

// oneArg requires exactly one argument. Its error names the argument.
func oneArg(what string) cobra.PositionalArgs { return argCount(1, 1, what) }

// optionalArg accepts at most one argument. Its error names the argument.
func optionalArg(what string) cobra.PositionalArgs { return argCount(0, 1, "at most "+what) }

// noArgs accepts no argument.
func noArgs(c *cobra.Command, args []string) error { return argCount(0, 0, "no arguments")(c, args) }

// argCount accepts a number of arguments, none of them empty: an empty one is most often a variable that is not set,
// and must not count as none.
func argCount(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if most > 0 && slices.Contains(args, "") {
			return usage("an argument is empty; %s takes %s\nsee: %s --help", c.CommandPath(), what, c.CommandPath())
		}
		return usageIf(len(args) < least || len(args) > most, "%s takes %s\nsee: %s --help", c.CommandPath(), what,
			c.CommandPath())
	}
}

// flagErrorText returns the text of an error about a flag. It replaces the parser's terms with plain
// words.
func flagErrorText(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		name := "--" + unknown.GetSpecifiedName()
		if s := findSetting(unknown.GetSpecifiedName(), nil); s.fleet || s.name == "workers" {
			return name + " is not known here: it is a flag of runs on workers, which the whole wavex has " +
				"(fleet/docs/workers.md)"
		}
		known := c.Flags()
		if known.Lookup("agent") != nil { // it has settings
			known = newRunOptions(nil).otherSettings()
			known.AddFlagSet(c.Flags())
			if flagName(unknown.GetSpecifiedName(), nil) != name {
				return name + " is a setting without a flag: give " + variable(unknown.GetSpecifiedName()) +
					" for one command, or for new runs a line of a settings file (wavex config --help)"
			}
		}
		if there := equivalentFlag(c, unknown.GetSpecifiedName()); there != "" {
			return "unknown flag: --" + unknown.GetSpecifiedName() + "; " + there
		}
		if near := similarFlag(known, unknown.GetSpecifiedName()); near != "" {
			return "unknown flag: --" + unknown.GetSpecifiedName() + "; did you mean --" + near + "?"
		}
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if _, ours := wrong.GetFlag().Value.(*value); ours {
			name := "--" + wrong.GetFlag().Name
			if short := wrong.GetFlag().Shorthand; short != "" {
				name = "-" + short
			}
			return name + " " + wrong.Unwrap().Error()
		}
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		return strings.TrimSuffix(err.Error(), number.Error()) + "it takes a number"
	}
	return err.Error()
}

// similarFlag returns the flag that the user probably meant, or "" if no flag is similar.
func similarFlag(flags *pflag.FlagSet, got string) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return plan.Nearest(got, names)
}

// equivalentFlag says where wavex has a feature that other programs have as a flag.
func equivalentFlag(c *cobra.Command, name string) string {
	switch {
	case name == "json" && c.Flags().Lookup("output") != nil:
		return "it is --output json"
	case name == "json" && c.Flags().Lookup("format") != nil:
		return "it is --format json"
	case name == "dry-run" && c.Flags().Lookup("agent") != nil:
		return "wavex check shows what would run, --agent rehearse tries it with a stand-in"
	}
	return ""
}
