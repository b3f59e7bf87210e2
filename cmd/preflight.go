package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"wavex/internal/agent"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/rehearse"
	"wavex/internal/usererr"
)

// preflight runs the free part of doctor, with which every run begins. An unfit CLI, or a mode that it
// would refuse, ends a run before anything is written.
func (r *invocation) preflight(ctx context.Context) error {
	if r.agent.IsRehearsal() || !needsCLI(r.plan, &r.config) {
		return nil
	}
	env := proc.Environ(os.Environ(), nil)
	if c := doctor.Bypass(bypassTasks(r.plan), isRoot(), env); c.Status == doctor.Fail &&
		r.config.Workers.Engine == "" {
		return preflightError(c)
	}
	_, err := checkLogin(ctx, &r.agent, env, r.config.Dir, r.std)
	return err
}

// checkLogin is checkCLI for attempts in dir, and checks that the CLI is logged in.
func checkLogin(ctx context.Context, a *agent.Agent, env []string, dir string, std Stdio) (statement.Program, error) {
	p, err := checkCLI(ctx, a, env, std)
	if err == nil && doctor.Login(env, runtime.GOOS == "darwin").Status != doctor.OK &&
		doctor.LoggedOut(ctx, a.Argv, env, dir, answerTimeout) {
		err = usererr.Blocked(errors.New(
			"the claude CLI is not logged in: log in with `claude auth login`, or set ANTHROPIC_API_KEY"))
	}
	return p, err
}

// checkCLI checks the CLI before use: the file behind its links, its version, and whether the statements
// that wavex relies on hold. The whole run uses this file, because the CLI changes the target of
// its link while it is in use; if an update removes the file, Find returns the new one.
func checkCLI(ctx context.Context, a *agent.Agent, env []string, std Stdio) (statement.Program, error) {
	p, c := doctor.CLI(ctx, a.Argv[0], env, answerTimeout)
	if c.Status == doctor.Fail {
		return p, preflightError(c)
	}
	cli := statement.UserStore().Ensure(ctx, p)
	if c := doctor.Statements(cli); c.Status == doctor.Fail {
		return p, preflightError(c)
	}
	if n := cli.Notice(); n != "" {
		fmt.Fprintln(std.Err, "wavex: warning: "+n)
	}
	a.Argv = []string{p.Path}
	return p, nil
}

func preflightError(c doctor.Check) error { return usererr.Blocked(errors.New(c.Text + "; " + c.Fix)) }

// bypassTasks returns the tasks that bypass permissions, and the lists that come with the run whose tasks do.
func bypassTasks(p *plan.Plan) []string {
	if p == nil {
		return nil
	}
	var ids []string
	for t := range p.AllTasks() {
		if t.Command == "" && p.SettingsOf(t).PermissionMode == "bypassPermissions" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func isRoot() bool { return os.Geteuid() == 0 }

// findAgent finds the agent's program. A missing program is an error if needed is true. It writes nothing.
func findAgent(o *runOptions, name string, needed bool) (agent.Agent, error) {
	a := agent.Agent{Name: name}
	if _, err := agent.Lookup(name); err != nil {
		return a, usererr.Input(err)
	}
	if a.IsRehearsal() {
		a, err := standIn()
		if err != nil {
			return a, err
		}
		if o.scenario != "" {
			if a.Scenario, err = rehearse.LoadScenario(o.scenario); err != nil {
				return a, usererr.Input(err)
			}
		}
		return a, nil
	}
	if o.scenario != "" {
		return a, usage("--scenario is for --agent rehearse")
	}
	found, err := findClaude(o.claude)
	a.Argv, a.Find = []string{found}, func() (string, error) { return findClaude(o.claude) }
	if err != nil && needed {
		return a, usererr.Blocked(fmt.Errorf(
			"the claude CLI %q %s; install it with: %s, or try it without an account: the same command with --agent rehearse",
			found, claudeProblem(err), statement.Install))
	}
	return a, nil
}

// claudeProblem returns the reason why findClaude found no program.
func claudeProblem(err error) string {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "is a directory: name the file of the CLI in it"
	case errors.Is(err, fs.ErrPermission):
		return "may not be executed: see that it is the CLI, then chmod +x it"
	}
	return "is not there"
}

// findClaude returns the path of the CLI: the value of the setting, else WAVEX_CLAUDE, else the claude
// in PATH. If it returns an error, it also returns the name that it looked for.
func findClaude(setting string) (string, error) {
	path := cmp.Or(setting, os.Getenv("WAVEX_CLAUDE"), "claude")
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return path, err
	}
	// A relative path refers to the directory of wavex; an attempt may work in another one.
	return filepath.Abs(found)
}
