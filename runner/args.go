package runner

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/wary"
)

// argumentMax is how long a text may be as an argument, in bytes. The kernel's bound is
// 128 KB; longer ones go by file.
const argumentMax = 32 << 10

// The flags of every process: headless, one JSON object a line in both directions.
var speaking = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}

// movesSections takes folder, git's state and memory out of the system prompt, into the first
// message of the user.
const movesSections = "--exclude-dynamic-system-prompt-sections"

// attemptArgs are the arguments for an attempt that has its process alone.
func (t *attempt) attemptArgs(flags, rules []string, resume bool) ([]string, error) {
	args := append(append([]string{}, t.Argv...), flags...)
	args = append(args, sessionFlags(t.req.Session, resume)...)
	if len(rules) > 0 {
		settings, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": rules}})
		if err != nil {
			return nil, err
		}
		args = append(args, "--settings", string(settings))
	}
	return capped(args, t.req.Cap), nil
}

// sessionFlags open a session, or continue one.
func sessionFlags(session string, resume bool) []string {
	switch {
	case session == "":
		return nil
	case resume:
		return []string{"--resume", session}
	}
	return []string{"--session-id", session}
}

// flags are what an attempt says of the agent, and the rules that allow it the commands
// of its checks; see docs/claude-cli.md for what each does. Rules go as settings, because
// --allowedTools takes a ")" before a blank for the end of a rule. They are added to what
// the user's own settings allow, and a rule that the CLI cannot read is passed over without
// harm to the others.
func (t *attempt) flags() (args, rules []string, err error) {
	s := t.req.Settings
	args = append([]string{}, speaking...)
	mode := s.PermissionMode
	if mode == "" {
		mode = "acceptEdits"
	}
	args = append(args, "--permission-mode", mode)
	if t.MovesSections {
		args = append(args, movesSections)
	}
	rules = checkRules(t.req.Checks)
	var others []string
	for _, r := range s.AllowedTools {
		if oneRule(r) {
			rules = append(rules, r)
		} else {
			others = append(others, r) // "Read,Grep": the CLI's own list syntax
		}
	}
	args = list(args, "--allowedTools", others)
	args = list(args, "--disallowedTools", s.DisallowedTools)
	switch s.MCPConfig {
	case "inherit":
	case "":
		args = append(args, "--strict-mcp-config")
	default: // the file's servers and no others
		args = append(args, "--mcp-config", s.MCPConfig, "--strict-mcp-config")
	}
	if s.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(s.MaxTurns))
	}
	for _, f := range []struct{ flag, value string }{
		{"--model", s.Model},
		{"--fallback-model", s.FallbackModel},
		{"--agent", s.Agent},
		{"--setting-sources", s.SettingSources},
	} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	args, err = texted(args, "--append-system-prompt", s.AppendSystemPrompt, t.req.LogDir)
	return args, rules, err
}

// askArgs are the arguments for a lean call: no session, no tools but those named.
func askArgs(q Question) ([]string, error) {
	args := append([]string{}, speaking...)
	args = append(args, "--tools", strings.Join(q.Tools, ","), "--no-session-persistence", "--strict-mcp-config")
	if len(q.Schema) > 0 {
		args = append(args, "--json-schema", string(q.Schema))
	}
	if q.Model != "" {
		args = append(args, "--model", q.Model)
	}
	return texted(capped(args, q.Cap), "--system-prompt", q.System, q.LogDir)
}

// capped adds the money cap. It is never written as 0, which the CLI refuses.
func capped(args []string, limit budget.USD) []string {
	if limit <= 0 {
		return args
	}
	return append(args, "--max-budget-usd", strconv.FormatFloat(limit.Float(), 'f', -1, 64))
}

func list(args []string, flag string, values []string) []string {
	if len(values) == 0 {
		return args
	}
	return append(append(args, flag), values...)
}

// texted adds a text, by file when it is too long for an argument.
func texted(args []string, flag, text, logDir string) ([]string, error) {
	switch {
	case text == "":
		return args, nil
	case len(text) <= argumentMax:
		return append(args, flag, text), nil
	}
	path := filepath.Join(logDir, systemFile)
	if err := wary.Write(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return append(args, flag+"-file", path), nil
}
