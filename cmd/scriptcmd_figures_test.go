//go:build unix

package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/loop"
)

// figures cuts the journal of the current directory after every third record, or after each for rig.Whole, as if wavex
// had been killed then, and requires that wavex status, report, runs and watch show the same figures. It ends with the
// whole journal.
func figures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: figures")
	}
	journal := loop.In(ts.MkAbs(".")).Path(loop.Journal)
	whole, err := os.ReadFile(journal)
	ts.Check(err)
	cut, n := 0, 0
	for line := range bytes.Lines(whole) {
		cut += len(line)
		if !bytes.Contains(whole[:cut], []byte(`"run_started"`)) {
			continue // there is no run yet
		}
		if n++; n%3 != 1 && cut < len(whole) && !rig.Whole() {
			continue
		}
		ts.Check(os.WriteFile(journal, whole[:cut], 0o600))
		compareCommands(ts, string(line))
	}
}

// compareCommands compares the commands that show a run.
func compareCommands(ts *testscript.TestScript, after string) {
	run := func(args ...string) string {
		ts.Check(ts.Exec("wavex", args...))
		return ts.ReadFile("stdout")
	}
	first, by := map[string]string{}, map[string]string{}
	add := func(view string, pattern, text string, names ...string) {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			ts.Fatalf("after %s\nthe output of %s has no %s:\n%s", after, view, pattern, text)
		}
		for i, name := range names {
			if was, ok := first[name]; ok && was != found[i+1] {
				ts.Fatalf("after %s\n%s: %s says %q, %s says %q", after, name, by[name], was, view, found[i+1])
			}
			first[name], by[name] = found[i+1], view
		}
	}
	var r struct {
		Status  string
		CostUSD float64 `json:"cost_usd"`
		Seconds float64
		Tasks   []struct{ Status string }
	}
	var all struct {
		Runs []struct {
			Status    string
			CostUSD   float64 `json:"cost_usd"`
			Seconds   float64
			Completed int
			Tasks     int
		}
	}
	ts.Check(json.Unmarshal([]byte(run("status", "--output", "json")), &r))
	ts.Check(json.Unmarshal([]byte(run("runs", "--output", "json")), &all))
	done := 0
	for _, t := range r.Tasks {
		if t.Status == "completed" {
			done++
		}
	}
	last := all.Runs[len(all.Runs)-1]
	exact := fmt.Sprint(r.Status, done, len(r.Tasks), r.CostUSD, r.Seconds)
	if got := fmt.Sprint(last.Status, last.Completed, last.Tasks, last.CostUSD, last.Seconds); got != exact {
		ts.Fatalf("after %s\nwavex runs says %s, wavex status %s", after, got, exact)
	}
	const money = `(\$[0-9.]+/(?:none|\$[0-9.]+)(?: \(notional\))?)`
	total := `(?m)^(?:\*\*)?([a-z][a-z ]*): (\d+ of \d+) tasks? completed(?s).*Cost: ` + money +
		`.* Iterations: (\d+/\S+) \|.*?Time: (\S+)`
	names := []string{"status", "tasks", "money", "iterations", "time"}
	text := run("status", "--plain")
	add("status", total, text, names...)
	add("status's box", `(?s)^([a-z][a-z ]*): .*?\d+/\d+ tasks.*?\| `+money+`.* \| iteration (\S+)\n`, text,
		"status", "money", "iterations")
	add("report", total, run("report", "--format", "table"), names...)
	add("report in Markdown", total, strings.ReplaceAll(run("report", "--format", "markdown"), `\`, ""), names...)
	add("watch", total, run("watch", "--plain"), names...)
	usd := budget.FromFloat(r.CostUSD)
	shown, _, _ := strings.Cut(first["money"], "/")
	if shown != usd.Spent() && shown != fmt.Sprintf("$%.4f", usd.Float()) {
		ts.Fatalf("after %s\n%s is shown for %s", after, first["money"], usd)
	}
	if first["tasks"] != fmt.Sprintf("%d of %d", done, len(r.Tasks)) {
		ts.Fatalf("after %s\n%s are shown for %d of %d", after, first["tasks"], done, len(r.Tasks))
	}
}
