package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/usererr"
)

type importOptions struct {
	to      string
	lenient bool
}

func newImport(std Stdio) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Turn another tool's plan into a wavex plan",
		Long: `import reads a plan of another tool and writes it as a wavex plan in JSON:
phase plans in markdown and JSON, PRDs in markdown, prd.json, the steps of a
state.json. The form is recognised by the content; docs/imports.md describes
each. It lists the parts that a plan cannot hold, and every check in words, with
their positions.

run, check and graph read such files directly; import is for going on with the
result. A wavex plan in YAML comes out as JSON.

Exit status: 0 written, 2 the file is no plan, or has mistakes.`,
		Example: "  wavex import phase.plan.md -o plan.json\n  wavex import prd.json | wavex check /dev/stdin",
		Args:    oneArg("a file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runImport(args[0], o, std) },
	}
	c.Flags().StringVarP(&o.to, "to", "o", "", "file to write (default: standard output)")
	c.Flags().BoolVar(&o.lenient, "lenient", false, "accept a file whose stated counts do not match its content")
	return c
}

func runImport(path string, o importOptions, std Stdio) error {
	out, form, diags, err := convert.ImportFile(path, plan.Options{Lenient: o.lenient})
	if errors.Is(err, fs.ErrNotExist) {
		return usage("there is no file %s", path)
	}
	if err != nil {
		return usererr.Input(err)
	}
	if out == nil {
		return usererr.Plan(diags)
	}
	for _, d := range diags {
		fmt.Fprintln(std.Err, d.String())
	}
	if err := writeTo(o.to, out, std); err != nil {
		return err
	}
	// The counts come from parsing the written output, not from the importer.
	p, _ := plan.Parse("plan.json", out, plan.Options{Dir: convert.PromptDir(path)})
	if p == nil {
		return fmt.Errorf("the plan made of %s does not load", path)
	}
	checks, judged := 0, 0
	for i := range p.Tasks {
		checks += len(p.Tasks[i].Verify)
		judged += len(p.Tasks[i].Criteria)
	}
	_, total := p.Waves()
	fmt.Fprintf(std.Err, "%s: %s: %d tasks, %d waves, %d checks, %d more in words\n", path, form, len(p.Tasks), total,
		checks, judged)
	return nil
}

// writeTo writes a file atomically, or to standard output if there is no name.
func writeTo(name string, data []byte, std Stdio) error {
	if name == "" || name == "-" {
		_, err := std.Out.Write(data)
		return err
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() { // a pipe, a device
		return os.WriteFile(name, data, 0o644)
	}
	return maybe.WriteFile(name, data, 0o644)
}
