package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

// importIssues reads a plan from the issues of a repository on GitHub, by gh. It prints its warnings.
func importIssues(ctx context.Context, text string, _ importOptions, std Stdio) ([]byte, convert.Form, error) {
	from, err := convert.ParseIssues(text)
	if err != nil {
		return nil, "", usage("%s, for example octo/shop#ready", err)
	}
	out, warnings, err := from.Plan(ctx, askGitHub)
	switch {
	case errors.Is(err, convert.ErrCycle):
		return nil, "", usage("%s", err)
	case err != nil:
		return nil, "", usererr.Blocked(err)
	}
	p, diags := plan.Parse(from.String(), out, plan.Options{})
	if p == nil {
		return nil, "", planfile.NewPlanError(diags)
	}
	for _, w := range warnings {
		fmt.Fprintln(std.Err, "wavex: warning: "+w)
	}
	fmt.Fprintln(std.Err, "wavex: others write issues: read the plan before you run it, and give its tasks checks")
	return append(out, '\n'), "issues on GitHub", nil
}

const (
	maxAnswers  = 64 << 20        // bytes of the answers to one query
	githubLimit = 5 * time.Minute // for all pages of one query
)

// askGitHub sends a query by gh, with its own login.
func askGitHub(ctx context.Context, query string, vars map[string]string) (io.Reader, error) {
	argv := []string{"gh", "api", "graphql", "-f", "query=" + query}
	if _, one := vars["number"]; !one {
		argv = append(argv, "--paginate")
	}
	for name, value := range vars {
		field := "-f"
		if name == "number" {
			field = "-F" // an integer
		}
		argv = append(argv, field, name+"="+value)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	env := proc.Inherit(os.Environ(), []string{"GH_*", "GITHUB_*"}).With(map[string]string{"GH_PROMPT_DISABLED": "1"})
	ctx, cancel := context.WithTimeout(ctx, githubLimit)
	defer cancel()
	var stderr bytes.Buffer
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: dir, Env: env, Stderr: &stderr})
	if err != nil {
		return nil, fmt.Errorf("%w; install gh (https://cli.github.com), then log in with: gh auth login", err)
	}
	stop := context.AfterFunc(ctx, func() { p.Stop(time.Second) })
	defer stop()
	var stdout bytes.Buffer
	n, err := io.Copy(&stdout, io.LimitReader(p.Stdout, maxAnswers+1))
	if n > maxAnswers {
		err = errors.New("the issues are too large; name a label that fewer of them have")
		p.Stop(time.Second)
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("gh: %w", context.Cause(ctx))
	case err != nil:
		return nil, err
	case exit.Code != 0 || exit.Signal != "":
		said := cmp.Or(textfmt.OneLine(stderr.String(), 300), fmt.Sprint("exit status ", exit.Code))
		return nil, fmt.Errorf("gh: %s; gh auth status shows its login", said)
	}
	return &stdout, nil
}
