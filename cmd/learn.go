package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"wavex/internal/loop"
	"wavex/internal/userdata"
	"wavex/internal/usererr"
)

type learnOptions struct {
	accept []string
	drop   []string
	user   bool
	output string
}

func newLearn(std Stdio) *cobra.Command {
	var o learnOptions
	c := &cobra.Command{
		Use:   "learn",
		Short: "See what runs have taught, and keep it",
		Long: `learn shows what the last runs propose to remember: failures that a panel's
advice turned around, and deviations that _context.md records (in the tracking
directory, else in .loop). Nothing is kept unless you accept it; what is kept is
recalled for later requests.

Accepted learnings go to .wavex/learnings.jsonl of the project, to be kept with
its code, or with --user to your own data folder, for every project.

Exit status: 0 shown or kept, 2 there is no such proposal.`,
		Example: "  wavex learn\n  wavex learn --accept all\n  wavex learn --accept 1f3a9c02 --user",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runLearn(c.Context(), o, std) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.accept, "accept", nil, "ids of proposals to keep, or all")
	f.StringSliceVar(&o.drop, "drop", nil, "ids of proposals to forget, or all")
	f.BoolVar(&o.user, "user", false, "keep them in the user's data folder")
	outputFlag(c, &o.output)
	return c
}

func runLearn(ctx context.Context, o learnOptions, std Stdio) error {
	dir, err := projectDir("")
	if err != nil {
		return err
	}
	std.tellPlace(dir)
	if err := checkLoop(ctx, loop.In(dir)); err != nil {
		return err
	}
	pending := loop.In(dir).Path(loop.Learnings)
	list, _, err := userdata.LoadLearnings(pending)
	if err != nil {
		return usererr.Blocked(err)
	}
	keep, err := selectLearnings(list, o.accept, "--accept")
	if err != nil {
		return err
	}
	drop, err := selectLearnings(list, o.drop, "--drop")
	if err != nil {
		return err
	}
	if len(keep)+len(drop) == 0 {
		return printLearnings(list, o, std)
	}
	files := userdata.LearningFiles(dir)
	to := files[0]
	if o.user {
		if len(files) == 1 {
			return usage("there is no home for a data folder; name one in %s", userdata.EnvVar)
		}
		to = files[1]
	}
	// Write the kept ones first: between the two writes a learning is in both files. A crash there
	// may repeat a learning, but cannot lose one.
	if err := userdata.AddLearnings(to, keep, userdata.Shared); err != nil {
		return usererr.Blocked(err)
	}
	gone := slices.Concat(keep, drop)
	rest := slices.DeleteFunc(list, func(l userdata.Learning) bool {
		return slices.ContainsFunc(gone, func(o userdata.Learning) bool { return o.ID == l.ID })
	})
	if err := userdata.ReplaceLearnings(pending, rest); err != nil {
		return usererr.Blocked(err)
	}
	fmt.Fprintf(std.Err, "%d kept in %s, %d forgotten, %d left\n", len(keep), to, len(drop), len(rest))
	return nil
}

func printLearnings(list []userdata.Learning, o learnOptions, std Stdio) error {
	if o.output == "json" {
		return json.NewEncoder(std.Out).Encode(append([]userdata.Learning{}, list...)) // [], not null
	}
	if len(list) == 0 {
		fmt.Fprintln(std.Err, "nothing is proposed")
	}
	for _, l := range list {
		fmt.Fprintf(std.Out, "%s  %s\n", l.ID, l)
	}
	return nil
}

// selectLearnings returns the proposals with the given ids; "all" stands for every one.
func selectLearnings(list []userdata.Learning, ids []string, flag string) ([]userdata.Learning, error) {
	if slices.Contains(ids, "all") {
		return slices.Clone(list), nil
	}
	var out []userdata.Learning
	for _, id := range ids {
		i := slices.IndexFunc(list, func(l userdata.Learning) bool { return l.ID == id })
		if i < 0 {
			return nil, usage("%s: there is no proposal %s; see them with: wavex learn", flag, id)
		}
		out = append(out, list[i])
	}
	return out, nil
}
