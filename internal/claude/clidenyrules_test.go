//go:build unix

package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/jsonobject"
	"wavex/internal/proc"
	"wavex/runner"
)

func TestDenyRules(t *testing.T) {
	t.Parallel()
	bash, write, edit := `{"command":"touch a && make all"}`, `{"file_path":"/p/src/a.go"}`, `{"file_path":"/h/.env"}`
	for _, c := range []struct {
		rule, tool, input string
		want              bool
	}{
		{"Bash", "Bash", bash, true},
		{"Bash(*)", "Bash", bash, true},
		{"Bash(make:*)", "Bash", bash, true},
		{"Bash(make all)", "Bash", bash, true},
		{"Bash(mak:*)", "Bash", bash, false},
		{"Bash(make)", "Bash", bash, false},
		{"Bash(t* a)", "Bash", bash, true},
		{`Bash(f\(x\))`, "Bash", `{"command":"f(x)"}`, true},
		{"Bash", "Write", write, false},
		{"Write", "Write", write, true},
		{"Write", "Edit", write, false},
		{"Edit", "Write", write, true},
		{"Edit(./src/**)", "Write", write, true},
		{"Edit(/src)", "Write", write, true},
		{"Edit(//p/src/*.go)", "Write", write, true},
		{"Edit(*.go)", "Write", write, true},
		{"Edit(*.ts)", "Write", write, false},
		{"Edit(~/.env)", "Edit", edit, true},
		{"Edit(~/.en)", "Edit", edit, false},
		{"WebFetch(domain:go.dev)", "WebFetch", `{"url":"https://go.dev/x"}`, true},
		{"WebFetch(domain:go.dev)", "WebFetch", `{"url":"https://example.org/x"}`, false},
		{"mcp__db", "mcp__db__query", `{}`, false},
	} {
		rule := denyRule{text: c.rule, base: "/p", home: "/h"}
		if got := rule.denies(denial{tool: c.tool, input: jsonobject.Value(c.input)}); got != c.want {
			t.Errorf("%s denies %s %s: %v, want %v", c.rule, c.tool, c.input, got, c.want)
		}
	}
}

// The deny rules of the user, the project and the plan are named with their place, also those that take a tool away.
func TestNamesDenyRules(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for path, rule := range map[string]string{home: "Bash", dir: "Edit(*.lock)"} {
		must(os.MkdirAll(filepath.Join(path, ".claude"), 0o755))
		must(os.WriteFile(filepath.Join(path, ".claude", "settings.json"),
			[]byte(`{"permissions":{"deny":["`+rule+`"],"ask":["NotebookEdit"]}}`), 0o644))
	}
	turn := &turn{Agent: &Agent{Host: runner.Host{Env: proc.Inherit([]string{"HOME=" + home}, nil)}}}
	turn.req.Dir, turn.req.Settings.DisallowedTools = dir, []string{"WebFetch"}
	deny := turn.denyRules()
	user := "Bash in " + filepath.Join(home, ".claude", "settings.json")
	for want, d := range map[string]denial{
		user: {tool: "Bash", input: jsonobject.Value(`{"command":"ls"}`)},
		"Edit(*.lock) in " + filepath.Join(dir, ".claude", "settings.json"): {tool: "Write",
			input: jsonobject.Value(`{"file_path":"` + dir + `/go.lock"}`)},
		"WebFetch in the plan's disallowedTools": {tool: "WebFetch", input: jsonobject.Value(`{"url":"https://go.dev"}`)},
		"NotebookEdit in " + filepath.Join(home, ".claude", "settings.json"): {tool: "NotebookEdit",
			input: jsonobject.Value(`{"notebook_path":"/x"}`)},
		"": {tool: "Read", input: jsonobject.Value(`{"file_path":"/x"}`)},
	} {
		if got := denials([]denial{d}, nil, deny, dir); len(got) != 1 || got[0].By != want {
			t.Errorf("denials of %s: %+v, want by %q", d.tool, got, want)
		}
	}
	got := absent(deny, []string{"Edit", "Write", "Read"})
	if len(got) != 1 || got[0].Tool != "Bash" || got[0].By != user || !got[0].Absent {
		t.Errorf("absent: %+v", got)
	}
	one := []denyRule{{text: "Write", where: "s"}}
	if got := absent(one, []string{"Bash", "Edit"}); len(got) != 1 || got[0].Kind != "" {
		t.Errorf("absent with another tool of its kind: %+v", got)
	}
	if got := absent(one, []string{"Bash"}); len(got) != 1 || got[0].Kind != runner.EditTool {
		t.Errorf("absent with no other tool of its kind: %+v", got)
	}
	if got := absent(deny, nil); got != nil {
		t.Errorf("absent of a session that tells no tools: %+v", got)
	}
}

// A Stop hook that holds the agent is named with its file and the price of the responses since then.
func TestHeldByAStopHook(t *testing.T) {
	t.Parallel()
	feedback := func(said, more string) string {
		return `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"` + said + `"}]}` + more + `}`
	}
	const synthetic = `,"parent_tool_use_id":null,"isSynthetic":true`
	by := func(said string) string { return feedback(`Stop hook feedback:\n`+said, synthetic) }
	again := func(n string) string { return strings.Replace(textLine, "msg_1", "msg_"+n, 1) }
	for name, c := range map[string]struct {
		lines   []string
		hook    string // its command, or those that may be meant
		n, cost string
	}{
		"by its exit code": {[]string{by(`[b \"x\"]: no`), again("2"), by(`[b \"x\"]: no`), again("3")}, `b "x" in %`, "2",
			"$0.0027"},
		"two hooks of one response": {[]string{by("[a]: no"), by("[c]: no"), again("2")}, "a in %", "1", "$0.0013"},
		"by its decision":           {[]string{by("no"), again("2")}, `a in % or b "x" in %`, "1", "$0.0013"},
		"of a plugin":               {[]string{by("[p]: no")}, `a in % or b "x" in %`, "1", "$0.00"},
		"of a subagent": {lines: []string{feedback(`Stop hook feedback:\n[a]: no`,
			strings.Replace(synthetic, "null", `"t"`, 1))}},
		"by a prompt": {lines: []string{feedback(`Stop hook feedback:\n[a]: no`, "")}},
		"by the CLI":  {lines: []string{feedback("[structured-output-enforce] You MUST", synthetic)}},
		"by none":     {lines: []string{userLine, again("2")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: then(prints(append([]string{initLine, textLine}, append(c.lines, resultGood)...)...),
				step{EOF: true})})
			b.agent.ExtraEnv["CLAUDE_CONFIG_DIR"] = b.logs
			at := filepath.Join(b.logs, "settings.json")
			must(os.WriteFile(at, []byte(`{"hooks":{"Stop":[{"hooks":[{"command":"a"}]},{"hooks":[{"command":"b \"x\""},
				{"type":"prompt"}]}],"SubagentStop":[{"hooks":[{"command":"c"}]}]}}`), 0o644))
			want := ""
			if c.hook != "" {
				want = "a Stop hook of yours (" + strings.ReplaceAll(c.hook, "%", at) + ") held an agent after " + c.n +
					" of its responses, at a price of " + c.cost + ": let it pass where WAVEX_TASK is set"
			}
			if r := b.attempt(t.Context()); r.Held != want {
				t.Errorf("%q, want %q", r.Held, want)
			}
		})
	}
}

// A call that names the checkout that the agent's tree belongs to is outside of its own directory.
func TestLeftItsDirectory(t *testing.T) {
	t.Parallel()
	const tree = "/p/.loop/worktrees/w1"
	for path, want := range map[string]string{"/p/a.go": "/p/a.go", "/q/a.go": "", tree + "/a.go": "", "/pq": "",
		"cd /p&&make": "/p", "echo x >/p/a.go": "/p/a.go", "cat " + tree + "/a.go": ""} {
		d := denial{tool: "Write", input: jsonobject.Value(`{"file_path":"` + path + `"}`)}
		if strings.Contains(path, " ") {
			d = denial{tool: "Bash", input: jsonobject.Value(`{"command":"` + path + `"}`)}
		}
		if got := denials([]denial{d}, nil, nil, tree); got[0].Left != want {
			t.Errorf("%s: left for %q, want %q", path, got[0].Left, want)
		}
		if got := denials([]denial{d}, nil, nil, "/p"); got[0].Left != "" {
			t.Errorf("%s: left for %q from the checkout itself", path, got[0].Left)
		}
	}
}
