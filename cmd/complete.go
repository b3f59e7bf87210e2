package cmd

import "github.com/spf13/cobra"

// newCompletion returns cobra's completion command in the form of the others: cobra's help has no
// exit codes, and its lines are too wide.
func newCompletion(std Stdio) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes commands in a shell",
		Long: `completion prints a script for bash, zsh, fish or powershell with which the
shell completes commands, flags and their words.
For bash it needs the package bash-completion.

Exit status: 0 printed, 2 it is for none of these shells.`,
		Example: `  wavex completion bash > /etc/bash_completion.d/wavex
  wavex completion zsh > "${fpath[1]}/_wavex"
  wavex completion fish > ~/.config/fish/completions/wavex.fish
  wavex completion powershell | Out-String | Invoke-Expression
  source <(wavex completion bash)           (for this session only)`,
		Args:              oneArg("bash, zsh, fish or powershell"),
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			switch root := Root(std); args[0] {
			case "bash":
				return root.GenBashCompletionV2(std.Out, true)
			case "zsh":
				return root.GenZshCompletion(std.Out)
			case "fish":
				return root.GenFishCompletion(std.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(std.Out)
			}
			return usage("%q is not bash, zsh, fish or powershell", args[0])
		},
	}
}
