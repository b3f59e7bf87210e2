package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
)

// This file writes a first plan, to be changed by hand. A model makes the plan of a request: start.go.

func newNew(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "new [FILE]",
		Short: "Make a small plan with comments, to start from",
		Long: `new writes a plan of three tasks in YAML, with comments that say what each key
does, and prints the commands to check, rehearse and run it. It overwrites
nothing.

wavex plan "WHAT YOU WANT" lets a model make a plan instead.

Exit status: 0 written, 2 the file exists already, or its name ends in .json.`,
		Example: "  wavex new\n  wavex new docs.yaml",
		Args:    optionalArg("a plan file to write"),
		RunE:    func(_ *cobra.Command, args []string) error { return runNew(strings.Join(args, ""), std) },
	}
}

// firstPlan is the plan that `wavex new` writes.
const firstPlan = `# Tasks for wavex. Tasks that wait for nothing run side by side, each by an agent of its own.
# All keys: wavex schema.
version: 1
budget: {usd: 5}   # a run pauses before it spends more
tasks:
  - id: T-001
    subject: "Write a greeting"
    description: ""   # what else the agent must know
    files: ["greeting.txt"]   # the files that the task writes
    verify: ["grep -q Hello greeting.txt"]   # done when these commands succeed
  - id: T-002
    subject: "Write the names of those who are greeted"
    blockedBy: []
    files: ["names.txt"]   # the files that the task writes
    verify: ["test -s names.txt"]   # done when these commands succeed
  - id: T-003
    subject: "Put both together"
    blockedBy: [T-001, T-002]   # starts when these are done
    files: ["page.txt"]   # the files that the task writes
    verify: ["grep -q Hello page.txt"]   # done when these commands succeed
`

func runNew(path string, std Stdio) error {
	if path == "" {
		here, err := planfile.Default(".")
		if err != nil {
			return err
		}
		if here != "" {
			return usage("%s is here already; name another file: wavex new FILE.yaml", here)
		}
		path = "plan.yaml"
	} else if !plan.IsYAML(path, "#") {
		return usage("%s: the plan has comments, which JSON does not take; name a file such as plan.yaml", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already; name another file", path)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, firstPlan)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "%s: 3 tasks; read and change it, then:\n\n", path)
	printPlanCommands(std.Out, path)
	return nil
}
