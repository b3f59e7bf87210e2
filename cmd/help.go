package cmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

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
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		wide := 11
		for _, sub := range c.Commands() {
			wide = max(wide, len(sub.Name()))
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", wide, sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore about a command: %s COMMAND --help\n", c.CommandPath())
	}
	_, err := fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}

// newHelp returns `wavex help COMMAND`. Cobra's own help command treats an unknown command as a
// success.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Tell more about a command",
		Long:              "help tells what a command does, its flags and its exit codes.\n\nExit status: 0 told, 2 there is no such command.",
		Example:           "  wavex help run",
		ValidArgsFunction: completeCommand,
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
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usage("unknown command %q; did you mean %s?\nsee: %s --help", name, strings.Join(near, " or "),
			root.CommandPath())
	}
	return usage("unknown command %q\nsee: %s --help", name, root.CommandPath())
}
