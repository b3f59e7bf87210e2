package crash

// This file kills runs of plans with lists at random moments.

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/e2e/scratch"
	"wavex/internal/event"
)

// listsPlan has a list from a command, one from the output of an agent, whose items have steps, and one from the
// outputs of a list. Each list that comes with the run leaves a line in the file asked when it is made.
const listsPlan = `{"version": 1, "parallel": 3, "budget": {"usd": 5}, "tasks": [
 {"id": "lines", "foreach": {"command": "echo lines >> asked; printf '%s\\n' a '$(touch x)' b"}, "subject": "Read ${item}",
  "verify": ["true"], "rehearse": {"duration": "40ms", "cost": 0.01, "turns": 2}},
 {"id": "find", "subject": "Find", "verify": ["echo find >> asked"],
  "output": {"type": "object", "required": ["items"], "properties": {"items": {"type": "array"}}},
  "rehearse": {"duration": "40ms", "cost": 0.01, "turns": 2,
   "structured": {"items": [{"path": "p/1", "n": 1}, {"path": "p/2", "n": 2}, {"path": "\"; rm -rf $HOME; \"", "n": 3}]}}},
 {"id": "fix", "foreach": {"items": "${tasks.find.output.items}", "key": "${item.path}", "parallel": 2}, "steps": [
  {"name": "look", "subject": "Look at ${item.path}", "verify": ["true"], "output": {"type": "object"},
   "rehearse": {"duration": "40ms", "cost": 0.02, "turns": 2, "structured": {"next": ["${item.n}-a", "${item.n}-b"]}}},
  {"name": "mend", "command": "test ${steps.look.output.next[0]} = ${item.n}-a && echo '{\"next\": [\"one-'${item.n}'\", \"two-'${item.n}'\"]}'",
   "output": {"type": "object", "required": ["next"], "properties": {"next": {"type": "array"}}}}]},
 {"id": "each", "foreach": "${tasks.fix.outputs[*].next[*]}", "subject": "Each ${item}", "verify": ["true"],
  "rehearse": {"duration": "20ms", "cost": 0.01}},
 {"id": "report", "command": "cat ${tasks.fix.outputs} > report.json", "blockedBy": ["each", "lines"],
  "files": ["report.json"], "verify": ["test -s report.json"]}
]}`

// listsReport has the outputs of the items of listsPlan in the order of the list.
const listsReport = `[{"next":["one-1","two-1"]},{"next":["one-2","two-2"]},{"next":["one-3","two-3"]}]`

// No item runs twice and none is lost whenever a run with lists is killed, and a list that was recorded is
// not asked for again.
func TestListKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	killAtRandom(t, listsPlan, *killsAtRandom/4, func(p scratch.Project) { mustHaveItems(p) })
}

// mustHaveItems checks the journal of a complete run of listsPlan.
func mustHaveItems(p scratch.Project) {
	p.T.Helper()
	completed, started, turns, added := map[string]int{}, map[string]int{}, map[string]int{}, map[string][]string{}
	for _, e := range p.Events() {
		switch b := e.Body.(type) {
		case event.ItemsAdded:
			if added[b.Group] != nil {
				p.T.Errorf("record %d adds the list of %s again", e.Seq, b.Group)
			}
			added[b.Group] = b.Tasks
		case event.AttemptStarted:
			started[b.Task]++
		case event.TurnEnded:
			turns[b.Task]++
		case event.AttemptEnded:
			if b.Status == event.Completed {
				completed[b.Task]++
			}
		case event.IntegrationEnded:
			for _, id := range b.Completed {
				completed[id]++
			}
		}
	}
	all := []string{"lines.list", "find", "report"}
	for group, n := range map[string]int{"lines": 3, "fix": 3, "each": 6} {
		if len(added[group]) != n {
			p.T.Errorf("the tasks of %s are %q, want %d", group, added[group], n)
		}
		all = append(all, added[group]...)
		if group == "fix" { // the record names the last steps
			for _, id := range added[group] {
				all = append(all, strings.TrimSuffix(id, ".mend")+".look")
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, id := range all {
		if completed[id] != 1 {
			p.T.Errorf("%s was completed %d times", id, completed[id])
		}
		delete(completed, id)
	}
	if len(completed) > 0 || len(all) != 18 {
		p.T.Errorf("of %d tasks; completed beside them: %v", len(all), completed)
	}
	asked, err := os.ReadFile(filepath.Join(p.Dir, "asked"))
	if err != nil {
		p.T.Error(err)
	}
	// The list of a command is asked for once more only if the kill cut its command off.
	if n := bytes.Count(asked, []byte("lines\n")); n < 1 || n > started["lines.list"] {
		p.T.Errorf("the command was asked %d times in %d attempts", n, started["lines.list"])
	}
	if turns["find"] != 1 {
		p.T.Errorf("the turn of find ended %d times", turns["find"])
	}
	got, err := os.ReadFile(filepath.Join(p.Dir, "report.json"))
	if err != nil || string(got) != listsReport {
		p.T.Errorf("the report is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "x")); err == nil {
		p.T.Error("an item was executed")
	}
}
