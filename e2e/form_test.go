//go:build unix

package e2e

// This file tests the form of the CLI: the options that wavex passes, and the keys that it reads. `make clis` compares
// the forms of several releases.

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// formsVar names a folder into which TestFormOfTheCLI writes the form of each CLI, a fact a line, with its hook events
// and the models and prices of its short names.
const formsVar = "WAVEX_E2E_FORMS"

var (
	optionRE = regexp.MustCompile(`(?m)^  (?:-\w, )?(--[A-Za-z-]+)`)
	hooksRE  = regexp.MustCompile(`\["PreToolUse"[A-Za-z",]*\]`)
)

func TestFormOfTheCLI(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		dir := os.Getenv(formsVar)
		facts, models := options(t, c), []string{"default"}
		if dir != "" {
			facts, models = append(facts, hookEvents(t, c)...), append(models, "fable", "haiku", "opus", "sonnet")
		}
		usage := fakeapi.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 10_000_000, CacheWrite: 1_000_000}
		for _, name := range models {
			srv := serve(t, fakeapi.Text("hello").WithUsage(usage))
			e := call(t, srv, setup{cli: c, stdin: "go", args: []string{"--model", name}})
			facts = append(facts, fmt.Sprintf("price of %s: $%g", name, e.result(t).TotalCostUSD))
			for _, l := range e.lines {
				var keys map[string]json.RawMessage
				testrepo.Must(t, json.Unmarshal(l.raw, &keys))
				switch kind := l.Type + " " + l.Subtype; kind {
				case "system init":
					facts = append(facts, fmt.Sprintf("model of %s: %s", name, keys["model"]))
					fallthrough
				case "result success":
					for k := range keys {
						facts = append(facts, kind+": "+k)
					}
				}
			}
		}
		slices.Sort(facts)
		facts = slices.Compact(facts)
		for _, want := range []string{"--agent", "--allowedTools", "--append-system-prompt", "--disallowedTools",
			"--exclude-dynamic-system-prompt-sections", "--fallback-model", "--include-partial-messages", "--input-format",
			"--json-schema", "--max-budget-usd", "--mcp-config", "--model", "--no-session-persistence", "--output-format",
			"--permission-mode", "--resume", "--session-id", "--setting-sources", "--settings", "--strict-mcp-config",
			"--system-prompt", "--tools", "--verbose", "system init: model", "system init: session_id", "system init: tools",
			"result success: num_turns", "result success: permission_denials", "result success: result",
			"result success: session_id", "result success: total_cost_usd", "result success: usage"} {
			if !slices.Contains(facts, want) {
				t.Errorf("it has no %s", want)
			}
		}
		if dir != "" {
			text := strings.Join(facts, "\n") + "\n"
			if err := os.WriteFile(filepath.Join(dir, c.version+".txt"), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
}

// options returns the options in the CLI's help.
func options(t *testing.T, c cli) (out []string) {
	cmd := exec.Command(c.path, "--help")
	cmd.Env = Env(t, serve(t))
	help, err := cmd.Output()
	testrepo.Must(t, err)
	for _, m := range optionRE.FindAllSubmatch(help, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// hookEvents returns the names of hook events in the CLI's program.
func hookEvents(t *testing.T, c cli) (out []string) {
	program, err := os.ReadFile(c.path)
	testrepo.Must(t, err)
	lists := hooksRE.FindAll(program, -1) // of all events, and of some kinds
	if len(lists) == 0 {
		t.Fatal("the program has no list of hook events")
	}
	var names []string
	testrepo.Must(t, json.Unmarshal(slices.MaxFunc(lists, func(a, b []byte) int { return len(a) - len(b) }), &names))
	for _, name := range names {
		out = append(out, "hook "+name)
	}
	return out
}
