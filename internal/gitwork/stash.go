package gitwork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/runner"
)

// This file keeps agents in worktrees from the stash, which all worktrees of a repository share: one would pop the
// entry of another. Their git gets a hook that refuses new entries, beside the hooks of the repository.

// chainedHook runs a hook of the repository, which may work in others: it inherits no setting.
const chainedHook = `#!/bin/sh
unset GIT_CONFIG_PARAMETERS
hook=%s
[ ! -x "$hook" ] || exec "$hook" "$@"
`

// stashHook refuses to change the stash. Other hooks, such as lint-staged, may do so.
const stashHook = `#!/bin/sh
all=$(cat)
case "$1 $all
" in "prepared "*" refs/stash
"*)
	echo "wavex: all worktrees share the stash, so tasks cannot use it: commit, and git reset --soft HEAD~1 later" >&2
	exit 1 ;;
esac
hook=%s
[ ! -x "$hook" ] || printf '%%s\n' "$all" | "$hook" "$@"
`

// chainHooks makes a directory of hooks that run those of another one.
func chainHooks(dir, of string) error {
	err := safefile.RemoveAll(dir)
	err = errors.Join(err, safefile.MkdirAll(dir, 0o700))
	known, _ := os.ReadDir(of) // there may be none
	for _, e := range known {
		if !strings.Contains(e.Name(), ".") { // else a sample
			err = errors.Join(err, chainHook(chainedHook, dir, of, e.Name()))
		}
	}
	return err
}

func chainHook(text, dir, of, name string) error {
	text = fmt.Sprintf(text, plan.ShellQuote(filepath.Join(of, name)))
	return safefile.Write(filepath.Join(dir, name), []byte(text), 0o700)
}

// makeAgentHooks makes the directory of the hooks of agents' git, and the file of settings that names it.
func (m *Manager) makeAgentHooks() error {
	dir := m.opts.Loop.Worktree(m.opts.Run, "git")
	hooks := filepath.Join(dir, "hooks")
	err := chainHooks(hooks, m.hooksDir)
	if err = errors.Join(err, chainHook(stashHook, hooks, m.hooksDir, "reference-transaction")); err != nil {
		return err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.ToSlash(hooks))
	return safefile.Write(filepath.Join(dir, "config"), []byte("[core]\n\thooksPath = \""+quoted+"\"\n"), 0o600)
}

// agentGit returns the GIT_CONFIG_PARAMETERS of agents.
func (m *Manager) agentGit() string {
	common := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(filepath.ToSlash(m.checkout.common))
	setting := git{}.withConfig("includeIf.gitdir:" + common + "/worktrees/.path=" +
		filepath.ToSlash(m.opts.Loop.Worktree(m.opts.Run, "git")+"/config"))
	return strings.TrimPrefix(setting.env[0], "GIT_CONFIG_PARAMETERS=")
}

// stashEntries returns the ids and messages of the entries of the stash, the oldest first.
func (m *Manager) stashEntries() (all [][2]string) {
	common, _ := runner.Repository(m.opts.Project)
	text, _ := os.ReadFile(filepath.Join(common, "logs", "refs", "stash")) // there may be none
	for line := range strings.Lines(string(text)) {
		facts, said, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if ids := strings.Fields(facts); common != "" && len(ids) > 1 {
			all = append(all, [2]string{ids[1], said})
		}
	}
	return all
}

// tellStash puts back entries of the stash that were lost since the session began, and warns of them, and of entries
// that agents in worktrees made.
func (m *Manager) tellStash(ctx context.Context) error {
	now := m.stashEntries()
	var lost, made []string
	var err error
	for _, e := range m.stash {
		if !slices.Contains(now, e) {
			lost = append(lost, e[1])
			err = errors.Join(err, m.g.runWithoutHooks(ctx, "stash", "store", "-q", "-m", e[1], e[0]))
		}
	}
	for _, e := range now {
		if !slices.Contains(m.stash, e) && strings.Contains(e[1], branchName(runBranch(m.opts.Run))+".tasks/") {
			made = append(made, e[1])
		}
	}
	m.stash = now
	if len(lost) > 0 {
		m.warn(fmt.Errorf("the stash lost entries since the session began; they were put back: %s", firstFew(lost)))
	}
	if len(made) > 0 {
		m.warn(fmt.Errorf("tasks stashed changes, which are in no commit: git stash list has %s", firstFew(made)))
	}
	return err
}
