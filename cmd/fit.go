package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"wavex/internal/agent"
	"wavex/internal/claude/known"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/refuse"
)

// fit runs the free part of doctor, with which every run begins. An unfit CLI, or a mode that it
// would refuse, ends a run before anything is written.
func (r *launch) fit(ctx context.Context) error {
	if r.agent.Rehearses() || !agent.Needed(r.plan) {
		return nil
	}
	env := proc.Environ(os.Environ(), nil)
	if c := doctor.Bypass(bypassing(r.plan), isRoot(), env); c.Status == doctor.Fail {
		return unfit(c)
	}
	p, err := vet(ctx, &r.agent, env, r.std)
	if err != nil {
		return err
	}
	if !p.Version.Less(asksLogin) && doctor.Login(env, runtime.GOOS == "darwin").Status != doctor.OK &&
		doctor.LoggedOut(ctx, r.agent.Argv, env, r.config.Dir, answerWait) {
		return refuse.Blocked(errors.New("the claude CLI is not logged in: log in with `claude auth login`, or set ANTHROPIC_API_KEY"))
	}
	return nil
}

// asksLogin is the oldest version that is known to have `claude auth status`. An older version
// could take the words for a prompt.
var asksLogin = statement.Version{Major: 2, Minor: 1, Patch: 197}

// vet checks the CLI before use: the file behind its links, its version, and whether the statements
// that wavex relies on hold. The whole run uses this file, because the CLI changes the target of
// its link while it is in use.
func vet(ctx context.Context, a *agent.Agent, env []string, std Stdio) (known.Program, error) {
	p, c := doctor.CLI(ctx, a.Argv[0], env, answerWait)
	if c.Status == doctor.Fail {
		return p, unfit(c)
	}
	cli := known.UserStore().Ready(ctx, p)
	if c := doctor.Statements(cli); c.Status == doctor.Fail {
		return p, unfit(c)
	}
	if n := cli.Notice(); n != "" {
		fmt.Fprintln(std.Err, "wavex: warning: "+n)
	}
	a.Argv, a.CLI = []string{p.Path}, cli.Verdicts
	return p, nil
}

func unfit(c doctor.Check) error { return refuse.Blocked(errors.New(c.Text + "; " + c.Fix)) }

// bypassing returns the tasks that bypass permissions.
func bypassing(p *plan.Plan) []string {
	if p == nil {
		return nil
	}
	var ids []string
	for i := range p.Tasks {
		if p.Tasks[i].Command == "" && p.Settings(i).PermissionMode == "bypassPermissions" {
			ids = append(ids, p.Tasks[i].ID)
		}
	}
	return ids
}

func isRoot() bool { return os.Geteuid() == 0 }
