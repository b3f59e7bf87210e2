package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"wavex/internal/agent"
	"wavex/internal/claude/statement"
	"wavex/internal/claude/support"
	"wavex/internal/doctor"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/usererr"
)

// preflight runs the free part of doctor, with which every run begins. An unfit CLI, or a mode that it
// would refuse, ends a run before anything is written.
func (r *invocation) preflight(ctx context.Context) error {
	if r.agent.IsRehearsal() || !agent.NeedsAgent(r.plan) {
		return nil
	}
	env := proc.Environ(os.Environ(), nil)
	if c := doctor.Bypass(bypassTasks(r.plan), isRoot(), env); c.Status == doctor.Fail {
		return preflightError(c)
	}
	p, err := checkCLI(ctx, &r.agent, env, r.std)
	if err != nil {
		return err
	}
	if !p.Version.Less(minAuthStatus) && doctor.Login(env, runtime.GOOS == "darwin").Status != doctor.OK &&
		doctor.LoggedOut(ctx, r.agent.Argv, env, r.config.Dir, answerTimeout) {
		return usererr.Blocked(errors.New(
			"the claude CLI is not logged in: log in with `claude auth login`, or set ANTHROPIC_API_KEY"))
	}
	return nil
}

// minAuthStatus is the oldest version that is known to have `claude auth status`. An older version
// could take the words for a prompt.
var minAuthStatus = statement.Version{Major: 2, Minor: 1, Patch: 197}

// checkCLI checks the CLI before use: the file behind its links, its version, and whether the statements
// that wavex relies on hold. The whole run uses this file, because the CLI changes the target of
// its link while it is in use.
func checkCLI(ctx context.Context, a *agent.Agent, env []string, std Stdio) (support.Program, error) {
	p, c := doctor.CLI(ctx, a.Argv[0], env, answerTimeout)
	if c.Status == doctor.Fail {
		return p, preflightError(c)
	}
	cli := support.UserStore().Ensure(ctx, p)
	if c := doctor.Statements(cli); c.Status == doctor.Fail {
		return p, preflightError(c)
	}
	if n := cli.Notice(); n != "" {
		fmt.Fprintln(std.Err, "wavex: warning: "+n)
	}
	a.Argv, a.Support = []string{p.Path}, cli.Support
	return p, nil
}

func preflightError(c doctor.Check) error { return usererr.Blocked(errors.New(c.Text + "; " + c.Fix)) }

// bypassTasks returns the tasks that bypass permissions.
func bypassTasks(p *plan.Plan) []string {
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
