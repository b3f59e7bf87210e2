package claude

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/runner"
)

// argumentMax is the maximum length of a text passed as an argument, in bytes. A longer text is
// passed in a file: the kernel's limit is 128 KB.
const argumentMax = 32 << 10

// protocolFlags holds the flags of every process: headless, one JSON object per line in both directions,
// with a stream_event for the final usage of each response, which assistant lines do not have.
var protocolFlags = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
	"--include-partial-messages"}

// excludeSectionsFlag moves the working directory, git status and memory from the system prompt to the
// first user message. All attempts then have the same system prompt, which the provider's cache
// serves.
const excludeSectionsFlag = "--exclude-dynamic-system-prompt-sections"

// attemptArgs returns the program and the arguments for an attempt.
func (t *turn) attemptArgs(resume bool) ([]string, error) {
	flags, rules, err := t.flags()
	if err != nil {
		return nil, err
	}
	args := append(t.program(), flags...)
	args = append(args, sessionFlags(t.req.Session, resume)...)
	if len(rules) > 0 {
		settings, _ := json.Marshal(map[string]any{"permissions": map[string]any{"allow": rules}}) // strings only
		args = append(args, "--settings", string(settings))
	}
	return appendCap(args, t.req.Cap), nil
}

// sessionFlags returns the flags that open or resume a session.
func sessionFlags(session string, resume bool) []string {
	switch {
	case session == "":
		return nil
	case resume:
		// The CLI keeps the system prompt of a session, and would ignore that of the new process.
		return []string{"--resume", session, "--system-prompt-snapshot", "off"}
	}
	return []string{"--session-id", session}
}

// flags returns the flags of an attempt, and the permission rules of its settings and for the
// commands of its checks; docs/claude-cli.md describes the flags. Rules are passed as settings,
// because --allowedTools takes a ")" before a blank as the end of a rule. They add to the rules in
// the user's own settings. The CLI skips a rule that it cannot parse and applies the others.
func (t *turn) flags() (args, rules []string, err error) {
	s := t.req.Settings
	mode := cmp.Or(s.PermissionMode, "acceptEdits")
	args = append(slices.Clone(protocolFlags), excludeSectionsFlag, "--permission-mode", mode)
	rules = checkRules(t.req.Checks)
	var others []string
	for _, r := range s.AllowedTools {
		if isSingleRule(r) {
			rules = append(rules, r)
		} else {
			others = append(others, r) // "Read,Grep": the CLI's own list syntax
		}
	}
	args = appendList(args, "--allowedTools", others)
	args = appendList(args, "--disallowedTools", append(slices.Clone(s.DisallowedTools),
		withheldPeerTools(s.AllowedTools)...))
	switch s.MCPConfig {
	case "inherit":
	case "":
		args = append(args, "--strict-mcp-config")
	default: // only the servers in the file
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
	if len(t.req.Output) > 0 {
		args = append(args, "--json-schema", string(t.req.Output))
	}
	args, err = appendText(args, "--append-system-prompt", s.AppendSystemPrompt, t.req.LogDir)
	return args, rules, err
}

// peerTools are the tools with which agents of one home directory find each other and send each
// other messages. They need no permission, and a message starts a paid turn of its receiver
// (observed on claude 2.1.330).
var peerTools = []string{"ListAgents", "SendMessage"}

// withheldPeerTools returns the peerTools that no rule of allowed names.
func withheldPeerTools(allowed []string) []string {
	named := map[string]bool{}
	for _, r := range allowed {
		for _, tool := range strings.FieldsFunc(r, func(c rune) bool { return c == ',' || c == ' ' }) {
			tool, _, _ = strings.Cut(tool, "(")
			named[tool] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(peerTools), func(tool string) bool { return named[tool] })
}

// askArgs returns the arguments of a lean call: no session, and only the tools of q.
func askArgs(q runner.Question) ([]string, error) {
	args := append(slices.Clone(protocolFlags), "--tools", strings.Join(q.Tools, ","), "--no-session-persistence",
		"--strict-mcp-config")
	if len(q.Schema) > 0 {
		args = append(args, "--json-schema", string(q.Schema))
	}
	if q.Model != "" {
		args = append(args, "--model", q.Model)
	}
	return appendText(appendCap(args, q.Cap), "--system-prompt", q.System, q.LogDir)
}

// appendCap adds the money cap. It leaves out a cap of 0, which the CLI refuses.
func appendCap(args []string, limit budget.USD) []string {
	if limit <= 0 {
		return args
	}
	return append(args, "--max-budget-usd", strconv.FormatFloat(limit.Float(), 'f', -1, 64))
}

func appendList(args []string, flag string, values []string) []string {
	if len(values) == 0 {
		return args
	}
	return append(append(args, flag), values...)
}

// appendText adds a text, in a file if it is too long for an argument.
func appendText(args []string, flag, text, logDir string) ([]string, error) {
	switch {
	case text == "":
		return args, nil
	case len(text) <= argumentMax:
		return append(args, flag, text), nil
	}
	path := filepath.Join(logDir, loop.SystemFile)
	if err := safefile.Write(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return append(args, flag+"-file", path), nil
}
