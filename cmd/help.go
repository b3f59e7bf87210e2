package cmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/plan"
)

// helpWidth is the maximum width of help in columns. Every terminal is at least this wide.
const helpWidth = 80

// printUsage prints the usage of a command, no line wider than helpWidth. Cobra's own form prints
// each flag on one line, however long.
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() && c.HasParent() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	groups := c.Groups()
	if len(groups) == 0 && c.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	writeFlags(&b, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore about a command: %s COMMAND --help\n", c.CommandPath())
	}
	_, err := fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}

// writeFlags writes the flags of a command, by their groups if they have some.
func writeFlags(b *strings.Builder, c *cobra.Command) {
	if !hasGroups(c) {
		if c.HasAvailableLocalFlags() {
			fmt.Fprintf(b, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(helpWidth))
		}
		return
	}
	for n, group := range helpGroups {
		shown := pflag.NewFlagSet(group, pflag.ContinueOnError)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if flagGroup(f) == group || f.Name == "help" && n == len(helpGroups)-1 {
				shown.AddFlag(f)
			}
		})
		fmt.Fprintf(b, "\n%s:\n%s", group, shown.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(b, "\nSettings without a flag: %s config --help\n", c.Root().Name())
}

// newHelp returns `wavex help COMMAND`. Cobra's own help command treats an unknown command as a
// success.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		Long: "help tells what a command does, its flags and its exit codes.\n\n" +
			"Exit status: 0 told, 2 there is no such command.",
		Example: "  wavex help run",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(c.Root(), strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// onlyCommands checks the arguments of the root command, which accepts only commands.
func onlyCommands(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	return nil
}

func unknownCommand(root *cobra.Command, name string) error {
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		return usage("%q is a file, not a command; to run it: %s run %s\nsee: %s --help", name, root.CommandPath(),
			plan.ShellQuote(name), root.CommandPath())
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usage("unknown command %q%s\nsee: %s --help", name, plan.DidYouMean(name, names), root.CommandPath())
}
