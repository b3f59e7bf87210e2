package plan

import "strings"

// This file lists what a plan executes, for a person who decides whether to run it.

// Command is a shell command of a plan.
type Command struct {
	Run string `json:"run"`
	// For lists the ids of the tasks that run it, in the order of the plan, then those of lists that come with the run.
	// It is empty for a command of the plan itself: the setup of worktrees and the checks of its conditions.
	For []string `json:"for"`
}

// Commands returns the shell commands that a run of the plan starts by itself, each once, in the
// order of their first use. Those of a list that comes with the run have references to its items.
func (p *Plan) Commands() []Command {
	all, at := []Command{}, map[string]int{}
	add := func(run, task string) {
		if run == "" {
			return
		}
		i, known := at[run]
		if !known {
			i = len(all)
			at[run] = i
			all = append(all, Command{Run: run, For: []string{}})
		}
		if n := len(all[i].For); task != "" && (n == 0 || all[i].For[n-1] != task) {
			all[i].For = append(all[i].For, task)
		}
	}
	conditions := func(list []Condition, task string) {
		for _, c := range list {
			if c.Check != nil {
				add(c.Check.Run, task)
			}
		}
	}
	add(p.Setup.Run, "")
	for t := range p.AllTasks() {
		add(t.Command, t.ID)
		for _, c := range t.Verify {
			add(c.Run, t.ID)
		}
		conditions(t.Criteria, t.ID)
	}
	conditions(p.Criteria, "")
	conditions(p.MustNot, "")
	return all
}

// ShellQuote returns a path as one word of a shell command, for commands that messages propose.
func ShellQuote(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?(){}[]<>|&;#~!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
