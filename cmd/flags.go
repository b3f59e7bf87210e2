package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputFlag adds --output text|json.
func outputFlag(c *cobra.Command, to *string) {
	choiceFlag(c, to, "output", "text", []string{"text", "json"}, "how to print the result")
}

// choiceFlag adds a flag that takes one of a few words.
func choiceFlag(c *cobra.Command, to *string, name, def string, choices []string, help string) {
	*to = def
	c.Flags().Var(&choice{to, choices}, name, help+": "+strings.Join(choices, ", "))
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// ignoredFlag accepts a flag of earlier versions with any value and ignores it, so that
// scripts and printed commands go on to work. One line on stderr says why.
func ignoredFlag(c *cobra.Command, name, why string) {
	c.Flags().Var(&ignored{c: c, text: "wavex: --" + name + " is ignored: " + why}, name, "")
	c.Flags().Lookup(name).Hidden = true
}

type ignored struct {
	c    *cobra.Command
	text string
	said bool
}

func (i *ignored) String() string { return "" }
func (i *ignored) Type() string   { return "word" }
func (i *ignored) Set(string) error {
	if !i.said {
		i.said = true
		fmt.Fprintln(i.c.ErrOrStderr(), i.text)
	}
	return nil
}

type choice struct {
	to      *string
	choices []string
}

func (c *choice) String() string { return *c.to }
func (c *choice) Type() string   { return "word" }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.choices, s) {
		return usage("%q is not one of %s", s, strings.Join(c.choices, ", "))
	}
	*c.to = s
	return nil
}

// oneArg wants exactly one argument and says which.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s takes %s\nsee: %s --help", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}

// maybeArg wants at most one argument and says which.
func maybeArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("%s takes at most %s\nsee: %s --help", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}

// noArgs wants none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments\nsee: %s --help", c.CommandPath(), c.CommandPath())
	}
	return nil
}

// flagWords says what is wrong with a flag of a command, in the words of people where the
// library has those of its parser.
func flagWords(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if there := elsewhere(c, unknown.GetSpecifiedName()); there != "" {
			return "unknown flag: --" + unknown.GetSpecifiedName() + "; " + there
		}
		if near := nearFlag(c.Flags(), unknown.GetSpecifiedName()); near != "" {
			return "unknown flag: --" + unknown.GetSpecifiedName() + "; did you mean --" + near + "?"
		}
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		return strings.TrimSuffix(err.Error(), number.Error()) + "it takes a number"
	}
	return err.Error()
}

// nearFlag is the flag that somebody may have meant; "" where none is near.
func nearFlag(flags *pflag.FlagSet, got string) string {
	best, distance := "", 2+len(got)/4
	if len(got) > 64 {
		return ""
	}
	flags.VisitAll(func(f *pflag.Flag) {
		x := levenshtein.ComputeDistance(got, f.Name)
		if strings.HasPrefix(f.Name, got) {
			x = min(x, 1)
		}
		if !f.Hidden && x < distance {
			best, distance = f.Name, x
		}
	})
	return best
}

// elsewhere says where that is which other programs have as a flag.
func elsewhere(c *cobra.Command, name string) string {
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
