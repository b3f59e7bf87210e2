package claude

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file finds the deny rule that a denied call met. A deny rule wins over every allow rule, and the CLI does not
// name it (observed on claude 2.1.332). So does an ask rule, as no person is there. A tool that a rule denies as a
// whole is not offered to the model. The settings that have the rules may have the Stop hook that held the agent, too.

// denyRule is an entry of permissions.deny or permissions.ask.
type denyRule struct {
	text  string
	where string // the file that has it, or the plan's key
	base  string // of relative paths in it
	home  string
}

// settingsMax bounds a settings file, in bytes.
const settingsMax = 1 << 20

// settings yields the settings files that apply to a turn: those of the machine, the user and the project.
func (t *turn) settings(yield func(path string, text []byte) bool) {
	env := t.Environ(t.req.Env)
	config := cmp.Or(proc.Getenv(env, "CLAUDE_CONFIG_DIR"), filepath.Join(proc.Getenv(env, "HOME"), ".claude"))
	project := filepath.Join(t.req.Dir, ".claude")
	for _, path := range []string{"/etc/claude-code/managed-settings.json",
		"/Library/Application Support/ClaudeCode/managed-settings.json", filepath.Join(config, "settings.json"),
		filepath.Join(project, "settings.json"), filepath.Join(project, "settings.local.json")} {
		if !filepath.IsAbs(path) {
			continue // there is no home
		}
		text, err := safefile.Read(path, settingsMax) // the CLI reports a mistake
		if err == nil && !yield(path, text) {
			return
		}
	}
}

// denyRules returns the deny rules that apply to a turn: those of its settings and of the plan.
func (t *turn) denyRules() (rules []denyRule) {
	home := proc.Getenv(t.Environ(t.req.Env), "HOME")
	for path, text := range t.settings {
		for _, list := range []string{"permissions.deny", "permissions.ask"} {
			for _, rule := range jsonobject.Value(text).Get(list).Members() {
				rules = append(rules, denyRule{strings.TrimSpace(rule.Text()), path, filepath.Dir(filepath.Dir(path)), home})
			}
		}
	}
	for _, rule := range t.req.Settings.DisallowedTools {
		rules = append(rules, denyRule{strings.TrimSpace(rule), "the plan's disallowedTools", t.req.Dir, home})
	}
	return rules
}

// heldBy names the Stop hook that held the agent, with its file and its price; "": none did. The CLI tells the command
// only of a hook that ended with exit code 2. Otherwise heldBy names all.
func (t *turn) heldBy(c *responses) string {
	if c.held == 0 {
		return ""
	}
	hooks := map[bool][]string{} // by whether the feedback is known to be theirs
	for path, text := range t.settings {
		for _, group := range jsonobject.Value(text).Get("hooks.Stop").Members() {
			for _, h := range group.Get("hooks").Members() {
				if command := h.Get("command").Text(); command != "" {
					theirs := strings.HasPrefix(c.feedback, "["+command+"]: ")
					hooks[theirs] = append(hooks[theirs], textfmt.OneLine(command, 200)+" in "+path)
				}
			}
		}
	}
	which := cmp.Or(strings.Join(hooks[true], " or "), strings.Join(hooks[false], " or "), "not in your settings")
	return fmt.Sprintf("a Stop hook of yours (%s) held an agent after %d of its responses, at a price of %s: let it pass "+
		"where WAVEX_TASK is set", which, c.held, (c.cost - c.unheld).USD().Spent())
}

// deniedBy returns the rule that denies a call, with its place, or "".
func deniedBy(rules []denyRule, d denial) string {
	for _, r := range rules {
		if r.denies(d) {
			return r.text + " in " + r.where
		}
	}
	return ""
}

// denies reports whether the rule matches a call.
func (r denyRule) denies(d denial) bool {
	tool, pattern, ok := strings.Cut(r.text, "(")
	if tool != d.tool && (tool != "Edit" || toolKind(d.tool) != runner.EditTool) {
		return false
	}
	pattern = strings.TrimSuffix(pattern, ")")
	if !ok || pattern == "*" {
		return true
	}
	if path := cmp.Or(d.input.Get("file_path").Text(), d.input.Get("notebook_path").Text()); path != "" {
		return r.deniesPath(pattern, path)
	}
	if command := d.input.Get("command").Text(); command != "" {
		return deniesCommand(pattern, command)
	}
	return d.input != nil && r.text == allowRule(d)
}

// deniesCommand reports whether a pattern matches one of the commands of a line. It takes words in quotes for commands,
// which names a rule too many.
func deniesCommand(pattern, line string) bool {
	ends := regexp.MustCompile(`&&|\|\|?|;|\n|&`)
	pattern = strings.NewReplacer(`\(`, "(", `\)`, ")", `\\`, `\`).Replace(pattern)
	prefix, open := strings.CutSuffix(pattern, ":*")
	if open {
		pattern = prefix
	}
	text := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	if open {
		text += `(\s.*)?`
	}
	whole, err := regexp.Compile("^(?s:" + text + ")$")
	return err == nil && slices.ContainsFunc(append(ends.Split(line, -1), line), func(c string) bool {
		return whole.MatchString(strings.TrimSpace(c))
	})
}

// deniesPath reports whether a pattern in the form of .gitignore matches a file or a directory that it is in.
func (r denyRule) deniesPath(pattern, path string) bool {
	switch {
	case strings.HasPrefix(pattern, "//"):
		pattern = pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		pattern = filepath.Join(r.home, pattern[2:])
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "./"):
		pattern = filepath.Join(r.base, pattern)
	default:
		pattern = "**/" + pattern
	}
	text := regexp.QuoteMeta(filepath.ToSlash(pattern))
	text = strings.NewReplacer(`\*\*/`, "(.*/)?", `\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]").Replace(text)
	whole, err := regexp.Compile("^" + text + "(/.*)?$")
	return err == nil && whole.MatchString(filepath.ToSlash(path))
}

// coreTools are the tools without which an agent can do little work.
var coreTools = [...]string{"Bash", "Edit", "Write"}

// absent returns the tools that a deny rule takes from the session, as denials; offered are those of its init line. One
// has the kind of its tool if no other tool of that kind is left.
func absent(rules []denyRule, offered []string) (out []runner.Denial) {
	if len(offered) == 0 {
		return nil // not told
	}
	for _, tool := range coreTools {
		if slices.Contains(offered, tool) {
			continue
		}
		d := runner.Denial{Tool: tool, Rule: tool, By: deniedBy(rules, denial{tool: tool}), Absent: true}
		if d.By == "" {
			continue
		}
		if kind := toolKind(tool); !slices.ContainsFunc(offered, func(other string) bool { return toolKind(other) == kind }) {
			d.Kind = kind
		}
		out = append(out, d)
	}
	return out
}

// leftFor returns the first path of a denied call in the checkout that the working tree dir belongs to: the agent left
// its own directory. It returns "" for other calls.
func leftFor(dir string, d denial) string {
	project, _, ok := strings.Cut(filepath.ToSlash(dir), "/"+loop.Name+"/"+loop.Worktrees+"/")
	if !ok {
		return ""
	}
	target := policy.Target(policy.Call{Input: d.input})
	separates := func(c rune) bool { return strings.ContainsRune(" \t\n\"'`;&|<>()=:", c) }
	for _, path := range strings.FieldsFunc(target, separates) {
		below, inside := strings.CutPrefix(filepath.ToSlash(path)+"/", project+"/")
		if inside && !strings.HasPrefix(below, loop.Name+"/") {
			return path
		}
	}
	return ""
}
