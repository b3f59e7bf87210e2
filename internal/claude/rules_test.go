package claude

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/jsonobject"
	"wavex/internal/plan"
	"wavex/runner"
)

func TestCheckRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		run  string
		want []string
	}{
		{"go test ./...", []string{"Bash(go test ./...)"}},
		{"  make test \n", []string{"Bash(make test)"}},
		{"go vet ./... && go test ./...", []string{"Bash(go vet ./... && go test ./...)"}},
		{"a; b || c", []string{"Bash(a; b || c)"}},
		{"go test -v | tee log", []string{"Bash(go test -v | tee log)", "Bash(go test -v)", "Bash(tee log)"}},
		{"a && b 2>&1 |& c", []string{"Bash(a && b 2>&1 |& c)", "Bash(a && b 2>&1)", "Bash(c)"}},
		{`python3 -c 'print(1)'`, []string{`Bash(python3 -c 'print\(1\)')`}},
		{`grep -q 'a|b' x`, []string{`Bash(grep -q 'a|b' x)`}},
		{`grep -q "a\"|b" x`, []string{`Bash(grep -q "a\\"|b" x)`}},
		{`grep -q a\|b x`, []string{`Bash(grep -q a\\|b x)`}},
		{`test -z "$(gofmt -l . | grep x)"`, []string{`Bash(test -z "$\(gofmt -l . | grep x\)")`}},
		{`test -z $(gofmt -l . | grep x)`, []string{`Bash(test -z $\(gofmt -l . | grep x\))`}},
		{"test -n $(x) | tee y", []string{`Bash(test -n $\(x\) | tee y)`, `Bash(test -n $\(x\))`, "Bash(tee y)"}},
		{"a >| b", []string{"Bash(a >| b)"}},
		{">| b", []string{"Bash(>| b)"}},
		{"shellcheck scripts/*.sh", []string{"Bash(shellcheck scripts/*.sh)"}},
		{"./bin/* --all", nil},
		{"echo go:*", nil},
		{"", nil},
	} {
		if got := checkRules([]plan.Check{{Run: tc.run}, {File: "x"}}); !slices.Equal(got, tc.want) {
			t.Errorf("checkRules(%q) = %q, want %q", tc.run, got, tc.want)
		}
	}
	if got := checkRules([]plan.Check{{Run: "a"}, {Run: "a"}}); len(got) != 1 {
		t.Errorf("the same check twice: %q", got)
	}
}

// The parts of a pipeline, joined with their separators, are equal to the command.
func TestPipelineLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab |&>'\"\\(){}`$;\n"))).Draw(t, "command")
		parts := pipeline(s)
		rest := s
		for _, p := range parts {
			i := strings.Index(rest, p)
			if i < 0 || strings.Trim(rest[:i], "|&") != "" {
				t.Fatalf("%q is not in order in %q: %q", p, s, parts)
			}
			rest = rest[i+len(p):]
		}
		if strings.Trim(rest, "|&") != "" {
			t.Fatalf("%q lost %q", s, rest)
		}
		needsWholeTool(s) // must not panic
	})
}

// A command is split at the pipes between its parts, and nowhere else. Only a background job, a process substitution,
// and a subshell or group at the beginning need a rule for the whole tool.
func TestPipelineOfParts(t *testing.T) {
	t.Parallel()
	type join struct {
		before, pipe, after string // it is split at a pipe
		whole               bool
	}
	words := []string{"a", `'b|\'`, `"c|\"|&"`, "`d|\\`|`", `\|`, `\"`, `\&`, `$(e | f)`, `{g|h}`, `(i|j)`,
		`$(k ")|" | l)`}
	joins := []join{{" ", "|", " ", false}, {"", "|", "", false}, {" ", "|&", "", false}, {" ", "|&", " ", false},
		{before: " || "}, {before: "||"}, {before: " && "}, {before: "; "}, {before: " >| "}, {before: " 2>&1 "},
		{before: " &> "}, {before: " <&3 "}, {before: " & ", whole: true}, {before: " &", whole: true},
		{before: " <(x) ", whole: true}, {before: " >(x) ", whole: true}}
	ends := []string{"", "", ` "m|`, ` 'm&`, "\\", " &&", " ||", " >|"} // some are cut off
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom(words).Draw(t, "word")
		whole, want := strings.HasPrefix(command, "{") || strings.HasPrefix(command, "("), []string{command}
		for range rapid.IntRange(0, 5).Draw(t, "joins") {
			j, word := rapid.SampledFrom(joins).Draw(t, "join"), rapid.SampledFrom(words).Draw(t, "word")
			command += j.before + j.pipe + j.after + word
			want[len(want)-1] += j.before
			if j.pipe != "" {
				want = append(want, "")
			}
			want[len(want)-1] += j.after + word
			whole = whole || j.whole
		}
		end := rapid.SampledFrom(ends).Draw(t, "end")
		command += end
		want[len(want)-1] += end
		if got := pipeline(command); !slices.Equal(got, want) {
			t.Fatalf("%s has the parts %q, want %q", command, got, want)
		}
		if got := needsWholeTool(command); got != whole {
			t.Fatalf("%s needs a rule for the whole tool: %v", command, got)
		}
	})
}

func TestDenials(t *testing.T) {
	t.Parallel()
	refused := func(tool, input string) denial { return denial{tool: tool, input: jsonobject.Value(input)} }
	d := refused("Bash", `{"command":"had it"}`)
	if got := denials([]denial{d}, []string{"Bash(had it)", "Bash"}, nil, ""); len(got) != 1 || got[0].Rule != "" {
		t.Errorf("denied in spite of a rule for the whole tool: %+v", got)
	}
	kinds := map[string]runner.ToolKind{"Bash": runner.CommandTool, "Write": runner.EditTool,
		"NotebookEdit": runner.EditTool}
	for _, tc := range []struct {
		in   denial
		want []string
	}{
		{refused("Bash", `{"command":"npm run lint"}`), []string{"Bash(npm run lint)"}},
		{refused("Bash", `{"command":"python3 -c 'f(1)'"}`), []string{`Bash(python3 -c 'f\(1\)')`}},
		{refused("Bash", `{"command":"a | b"}`), []string{"Bash(a)", "Bash(b)"}},
		{refused("Bash", `{"command":"had it"}`), []string{"Bash"}},
		{refused("Bash", `{"command":"(cd x && make)"}`), []string{"Bash"}},
		{refused("Bash", `{"command":"serve &"}`), []string{"Bash"}},
		{refused("Bash", `{"command":"a && b 2>&1 &> x"}`), []string{"Bash(a && b 2>&1 &> x)"}},
		{refused("Bash", `{"command":"diff <(a) b"}`), []string{"Bash"}},
		{refused("Bash", `{}`), []string{"Bash"}},
		{refused("Write", `{"file_path":"/etc/x","content":"y"}`), []string{"Edit(//etc/x)"}},
		{refused("Read", `{"file_path":"/etc/x"}`), []string{"Read(//etc/x)"}},
		{refused("NotebookEdit", `{"notebook_path":"n.ipynb"}`), []string{"Edit(n.ipynb)"}},
		{refused("WebFetch", `{"url":"https://go.dev/doc?x=1"}`), []string{"WebFetch(domain:go.dev)"}},
		{refused("WebFetch", `{"url":"%"}`), []string{"WebFetch"}},
		{refused("mcp__db__query", `{"q":1}`), []string{"mcp__db__query"}},
	} {
		var got []string
		for _, d := range denials([]denial{tc.in, tc.in}, []string{"Bash(had it)"}, nil, "") {
			if d.Tool != tc.in.tool || d.Kind != kinds[d.Tool] {
				t.Errorf("tool = %q of kind %q", d.Tool, d.Kind)
			}
			got = append(got, d.Rule)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("denial of %s %s: %q, want %q", tc.in.tool, tc.in.input, got, tc.want)
		}
	}
}

// Only a tool that reads or edits files has a rule for a path.
func TestRuleOfATool(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{{"Read", `{"file_path":"a.go"}`, "Read(a.go)"}, {"Read", `{}`, "Read"},
		{"LSP", `{"file_path":"a.go"}`, "LSP"}, {"Edit", `{"file_path":"/w/a.go"}`, "Edit(//w/a.go)"},
		{"WebFetch", `{"url":"https://x.org:1/y"}`, "WebFetch(domain:x.org)"}, {"WebFetch", `{"url":"x"}`, "WebFetch"}} {
		if got := allowRule(denial{tool: tt[0], input: jsonobject.Value(tt[1])}); got != tt[2] {
			t.Errorf("%s %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestIsSingleRule(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"Bash(go test ./...)": true, `Bash(test "$(x)" = y)`: true, `Bash(f \) x)`: true, "mcp__a__b(c)": true,
		"Read": false, "Read,Grep": false, "Bash(a) Edit": false, "Bash(a),Bash(b)": false, "Read Bash(a)": false,
		"Bash(a": false, "(a)": false, "": false,
	} {
		if got := isSingleRule(s); got != want {
			t.Errorf("isSingleRule(%q) = %v", s, got)
		}
	}
}

// An & inside quotes, also at the beginning, starts no background job.
func TestQuotedAmpersand(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{`"a & b" c`: false, `a & b`: true, `& b`: true, `a \& b`: false,
		`a \\& b`: true} {
		if needsWholeTool(command) != want {
			t.Errorf("%s needs a rule for the whole tool: %v", command, !want)
		}
	}
}

// A count of tokens that no response can have is ignored.
func TestImplausibleTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1099511627775": 1<<40 - 1, "1099511627776": 0, "-1": 0, `"7"`: 0, "7": 7} {
		if got := tokens(jsonobject.Value(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
