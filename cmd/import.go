package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/planfile"
	"wavex/internal/usererr"
)

type importOptions struct {
	from    string
	to      string
	lenient bool
}

func newImport(std Stdio) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE|OWNER/REPO#label",
		Short: "Turn another tool's plan into a wavex plan",
		Long: `import reads a plan of another tool and writes it as a wavex plan in JSON:
phase plans in markdown and JSON, prd.json, the steps of a state.json. The form
is recognised by the content; docs/imports.md describes each. It lists the parts
that a plan cannot hold, and every check in words, with their positions.

run, check and graph read such files directly; import is for going on with the
result. A wavex plan in YAML comes out as JSON.

With --from github it reads the open issues of a repository, those with a label
if one is named, and their sub-issues, by gh and its login. Each issue becomes a
task without checks: an issue waits for its open sub-issues and for the issues
that block it. Boxes that are not ticked become criteria. Nothing in an issue
becomes a command.

Exit status: 0 written, 2 the file is no plan, or has mistakes, 5 gh is missing
or cannot read the issues.`,
		Example: "  wavex import phase.plan.md -o plan.json\n  wavex import prd.json | wavex check /dev/stdin\n" +
			"  wavex import --from github octo/shop#ready -o plan.json",
		Args: oneArg("a file, or OWNER/REPO#label"),
		RunE: func(c *cobra.Command, args []string) error { return runImport(c.Context(), args[0], o, std) },
	}
	choiceFlag(c, &o.from, "from", "file", []string{"file", "github"}, "where the plan is")
	c.Flags().StringVarP(&o.to, "to", "o", "", "file to write (default: standard output)")
	c.Flags().BoolVar(&o.lenient, "lenient", false, "accept a file whose stated counts do not match its content")
	return c
}

func runImport(ctx context.Context, path string, o importOptions, std Stdio) error {
	read := importFile
	if o.from == "github" {
		read = importIssues
	}
	out, form, err := read(ctx, path, o, std)
	if err != nil {
		return err
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

// importFile reads a plan file. It prints its warnings.
func importFile(_ context.Context, path string, o importOptions, std Stdio) ([]byte, convert.Form, error) {
	out, form, diags, err := convert.ImportFile(path, plan.Options{Lenient: o.lenient})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", usage("there is no file %s", path)
	case err != nil:
		return nil, "", usererr.Input(err)
	case out == nil:
		return nil, "", planfile.NewPlanError(diags)
	}
	for _, l := range plan.Lines(diags) {
		fmt.Fprintln(std.Err, l)
	}
	return out, form, nil
}

// writeTo writes a file atomically, or to standard output if there is no name. A link stays a link; a pipe or a
// device is written to.
func writeTo(name string, data []byte, std Stdio) error {
	if name == "" || name == "-" {
		_, err := std.Out.Write(data)
		return err
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() { // a pipe, a device
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0) // without a reader, a pipe is an error, not a wait
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	return maybe.WriteFile(name, data, 0o644)
}
