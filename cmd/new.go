package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/usererr"
)

// This file writes a first plan, to be changed by hand. A model makes the plan of a request: start.go.

func newNew(std Stdio) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "new [FILE]",
		Short: "Make a small plan with comments, to start from",
		Long: `new writes a plan of a few tasks in YAML, with comments that say what each key
does, and prints the commands to check, rehearse and run it. On a terminal it
asks for the tasks, their files and their checks; elsewhere, with --yes, and
without an answer it takes three tasks as an example. It overwrites nothing.

wavex plan "WHAT YOU WANT" lets a model make a plan instead.

Exit status: 0 written, 2 there is a plan already, or the name is of JSON.`,
		Example: "  wavex new\n  wavex new --yes\n  wavex new docs.yaml",
		Args:    optionalArg("a plan file to write"),
		RunE: func(c *cobra.Command, args []string) error {
			return runNew(c.Context(), strings.Join(args, ""), yes, std)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "take the example, and ask nothing")
	return c
}

// newTask is one task of the plan that `wavex new` writes. Empty fields are left out of it.
type newTask struct{ subject, file, check string }

// exampleTasks are the tasks of the plan if the user names none. The last one waits for the others.
var exampleTasks = []newTask{
	{"Write a greeting", "greeting.txt", "grep -q Hello greeting.txt"},
	{"Write the names of those who are greeted", "names.txt", "test -s names.txt"},
	{"Put both together", "page.txt", "grep -q Hello page.txt"},
}

func runNew(ctx context.Context, path string, yes bool, std Stdio) error {
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
	tasks, example := exampleTasks, true
	if !yes && canPrompt(std) {
		asked, err := promptTasks(ctx, newPrompter(std))
		if err != nil {
			return err
		}
		if len(asked) > 0 {
			tasks, example = asked, false
		}
	}
	text := newPlanText(tasks, example)
	p, diags := plan.Parse(path, []byte(text), plan.Options{})
	if p == nil {
		return usererr.Plan(diags)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already; name another file", path)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "%s: %s; read and change it, then:\n\n", path, report.Plural(len(p.Tasks), "task", "tasks"))
	printPlanCommands(std.Out, path)
	return nil
}

// promptTasks asks for tasks until an empty answer, and again for one that is no task of a plan.
func promptTasks(ctx context.Context, p *prompter) (tasks []newTask, err error) {
	fmt.Fprintln(p.out, "What shall be done? One task after the other; an empty line ends the list.")
	for {
		var t newTask
		id := taskID(len(tasks))
		if t.subject, err = p.promptLine(ctx, id+", in a sentence: "); err != nil || t.subject == "" {
			break
		}
		if t.file, err = p.promptLine(ctx, "  the file that it writes (empty: not known yet): "); err != nil {
			break
		}
		byDefault := ""
		if t.file != "" {
			byDefault = "test -s " + plan.ShellQuote(t.file)
		}
		if t.check, err = p.promptLine(ctx, fmt.Sprintf("  the command that shows that it is done [%s]: ",
			byDefault)); err != nil {
			break
		}
		if t.check == "" {
			t.check = byDefault
		}
		text := newPlanText(append(slices.Clone(tasks), t), false)
		_, diags := plan.Parse("", []byte(text), plan.Options{})
		if i := slices.IndexFunc(diags, func(d plan.Diagnostic) bool { return d.Severity == plan.SeverityError }); i >= 0 {
			fmt.Fprintf(p.out, "  that is no task: %s; once more:\n", diags[i].Message)
			continue
		}
		tasks = append(tasks, t)
	}
	if errors.Is(err, errNoAnswer) {
		err = nil
	}
	return tasks, err
}

func taskID(i int) string { return fmt.Sprintf("T-%03d", i+1) }

// newPlanText returns the plan. Each word of the user is a JSON string, which YAML reads as the same text.
func newPlanText(tasks []newTask, example bool) string {
	quote := func(s string) string {
		out, _ := json.Marshal(s) // a string: it cannot fail
		return string(out)
	}
	var b strings.Builder
	b.WriteString(`# Tasks for wavex. Tasks that wait for nothing run side by side, each by an agent of its own.
# All keys: wavex schema.
version: 1
budget: {usd: 5}   # a run pauses before it spends more
tasks:
`)
	for i, t := range tasks {
		fmt.Fprintf(&b, "  - id: %s\n    subject: %s\n", taskID(i), quote(t.subject))
		switch {
		case i == 0:
			b.WriteString("    description: \"\"   # what the agent must know beside the subject\n")
		case example && i == len(tasks)-1:
			b.WriteString("    blockedBy: [T-001, T-002]   # starts when these are done\n")
		default:
			b.WriteString("    blockedBy: []\n")
		}
		if t.file != "" {
			fmt.Fprintf(&b, "    files: [%s]   # that the task writes\n", quote(t.file))
		}
		if t.check != "" {
			fmt.Fprintf(&b, "    verify: [%s]   # done when these commands succeed\n", quote(t.check))
		}
	}
	return b.String()
}
