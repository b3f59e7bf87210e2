package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rules hold the policy of one attempt. They are plain data.
type Rules struct {
	Dir  string `json:"dir"`  // absolute; where the agent begins to work
	Root string `json:"root"` // absolute; the directory that Edits is about, Dir or one above it
	Home string `json:"home,omitempty"`
	// Temp are absolute directories beside Root that may be written.
	Temp  []string `json:"temp,omitempty"`
	Edits string   `json:"edits"`           // EditsOff, EditsWorktree or EditsFiles
	Files []string `json:"files,omitempty"` // absolute paths that the task declares to write

	Closed []Closed `json:"closed,omitempty"`
	Deny   []string `json:"deny,omitempty"` // see Pattern
	Ask    []string `json:"ask,omitempty"`  // the same; a person decides on these calls
	// Allowed are the permission rules of the plan. Those for commands win over Deny, those for editing tools over Edits.
	Allowed []string `json:"allowed,omitempty"`
	// Checks are command lines that Deny and Ask do not hit: the task's own checks.
	Checks []string `json:"checks,omitempty"`
	Repeat int      `json:"repeat,omitempty"` // equal calls in a row after which the next is denied; 0: any number
}

// Closed is a path that no editing tool may write, with all below it.
type Closed struct {
	Path string `json:"path"` // absolute
	// In, if not "", restricts it to directories of this name below Path, at any depth. Patterns are relative to them.
	In string `json:"in,omitempty"`
	// Patterns, if there are any, restrict it to the paths below Path that one of them matches, and those below
	// them: patterns of path.Match for slash-separated paths relative to Path.
	Patterns []string `json:"patterns,omitempty"`
	Except   []string `json:"except,omitempty"` // absolute paths below Path that are open
	Rule     string   `json:"rule"`             // Decision.Rule
	Why      string   `json:"why"`              // "the plan protects it"
}

// The values of Rules.Edits: where editing tools may write.
const (
	EditsOff      = "off"      // anywhere
	EditsWorktree = "worktree" // in Root and in Temp
	EditsFiles    = "files"    // the files that the task declares, and Temp
)

// Pattern is a parsed pattern of calls. Its text is the name of a tool, a permission rule Bash(command), or a command.
// A command's words are patterns of path.Match and match the first words of a command; a word of flags, such as -fdx,
// matches a command with all of them, in any place and order.
type Pattern struct {
	text  string
	tool  string   // a pattern of path.Match; "": a command
	words []string // without flags; nil: the text is a permission rule
	flags []string // as of flagsOf
}

// ParsePattern parses a pattern of calls.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	if rule, is := strings.CutPrefix(text, "Bash("); is {
		if !strings.HasSuffix(rule, ")") {
			return p, errors.New("it lacks the closing parenthesis")
		}
		if strings.Trim(rule, ":* )") == "" {
			return p, errors.New("it names no command and no tool")
		}
		return p, nil
	}
	words := strings.Fields(text)
	if isTool(text) {
		p.tool, words = text, []string{text}
	}
	for _, w := range words {
		if flags := flagsOf(w); flags != nil {
			p.flags = append(p.flags, flags...)
			continue
		}
		if _, err := path.Match(w, ""); err != nil {
			return p, fmt.Errorf("it is no pattern: %w", err)
		}
		p.words = append(p.words, w)
	}
	if len(p.words) == 0 {
		return p, errors.New("it names no command and no tool")
	}
	if strings.Trim(p.words[0], "*") == "" {
		return p, errors.New("it matches every command; to take a tool away, use disallowedTools")
	}
	if i := strings.IndexByte(text, '('); i > 0 && isTool(text[:i]) {
		return p, errors.New("of the permission rules it may be Bash(...) or the name of a tool; " +
			"for others, use disallowedTools")
	}
	return p, nil
}

var unescape = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`)

// isTool reports whether a word has the form of a tool's name.
func isTool(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t(/") &&
		(s[0] >= 'A' && s[0] <= 'Z' || strings.HasPrefix(s, "mcp__"))
}

// DeniesPush reports whether the agent may run git push in no form, not even as a check.
func (r *Rules) DeniesPush() bool {
	return Denied(r.Deny, "git push") != "" && !slices.ContainsFunc(r.Allowed, allowsPush) &&
		!slices.ContainsFunc(r.Checks, func(check string) bool { return Denied([]string{"git push"}, check) != "" })
}

// allowsPush reports whether a permission rule allows git push in some form. A * may stand for several words.
func allowsPush(rule string) bool {
	list := commands(strings.ReplaceAll(ruleText(rule), "*", "* * *"))
	if len(list) != 1 {
		return false
	}
	c := splitCommand(list[0])
	isGit, _ := path.Match(path.Base(c.words[0]), "git")
	isPush, _ := path.Match(c.words[min(1, len(c.words)-1)], "push")
	return isGit && isPush
}

// Denied returns the first of the patterns that denies a command line, as far as its text tells, or "". It skips
// patterns that cannot be parsed.
func Denied(patterns []string, command string) string {
	list := parsePatterns(patterns)
	for _, words := range commands(command) {
		if p := list.denying(words); p != nil {
			return p.text
		}
	}
	return ""
}

// patterns are parsed patterns.
type patterns []*Pattern

func parsePatterns(texts []string) (l patterns) {
	for _, text := range texts {
		if p, err := ParsePattern(text); err == nil { // else reported where the plan is read
			l = append(l, &p)
		}
	}
	return l
}

// denyingTool returns the pattern that matches a tool, or nil.
func (l patterns) denyingTool(tool string) *Pattern {
	for _, p := range l {
		if ok, err := path.Match(p.tool, tool); ok && err == nil && p.tool != "" {
			return p
		}
	}
	return nil
}

// denying returns the pattern that matches a simple command, as written or without the folder of its program, or nil.
func (l patterns) denying(words []string) *Pattern {
	if words[0] == unknown {
		return nil
	}
	c := splitCommand(words)
	for _, p := range l {
		if p.words == nil && allows(p.text, words) || p.words != nil && p.tool == "" && p.matches(c) {
			return p
		}
	}
	if name := path.Base(words[0]); name != words[0] {
		return l.denying(append([]string{name}, words[1:]...))
	}
	return nil
}

// flagsOf returns the flags of a word: -f and -d of -fd, --force and -f of --force. It returns nil for other words.
func flagsOf(word string) (flags []string) {
	if long, _, _ := strings.Cut(word, "="); strings.HasPrefix(long, "--") && len(long) > 2 {
		return []string{long, long[1:3]}
	}
	for i := 1; i < len(word) && word[0] == '-' && word[1] != '-'; i++ {
		flags = append(flags, "-"+word[i:i+1])
	}
	return flags
}

// splitWords are the words of a simple command without its flags, and the flags. The first valued of the arguments in
// words may be values of flags.
type splitWords struct {
	words, flags []string
	valued       int
}

// gitValued are the options of git before its command whose values are words of their own.
var gitValued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env",
	"--attr-source"}

func splitCommand(words []string) (c splitWords) {
	c.words = words[:1:1]
	name := path.Base(words[0])
	for i, flagged := 1, false; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			c.words = append(c.words, words[i+1:]...)
			return c
		}
		flags := flagsOf(w)
		switch {
		case flags == nil:
			if flagged && c.valued == len(c.words)-1 {
				c.valued++
			}
			c.words = append(c.words, w)
		case name == "git" && len(c.words) == 1 && slices.Contains(gitValued, w):
			i++
		}
		for _, f := range flags {
			if c.flags = append(c.flags, f); name == "rm" {
				c.flags = append(c.flags, strings.ToLower(f))
			}
		}
		flagged = flags != nil && name != "git" && !strings.Contains(w, "=") && !strings.HasPrefix(w, "--no-")
	}
	return c
}

func (p *Pattern) matches(c splitWords) bool {
	for _, f := range p.flags {
		if !slices.Contains(c.flags, f) {
			return false
		}
	}
	for skip := 0; skip <= c.valued; skip++ {
		if p.matchesWords(slices.Delete(slices.Clone(c.words), 1, 1+skip)) {
			return true
		}
	}
	return false
}

// matchesWords reports whether the words of a pattern match the first of a command without flags.
func (p *Pattern) matchesWords(words []string) bool {
	if len(words) < len(p.words) {
		return false
	}
	for i, w := range p.words {
		word := words[i]
		if strings.HasPrefix(word, "/") {
			word = path.Clean(word)
		}
		if ok, err := path.Match(w, word); word == unknown && w != "*" || err != nil || !ok && w != words[i] {
			return false
		}
	}
	return true
}

// allows reports whether a permission rule names a simple command, in its own words or as the shell reads them. A rule
// for the whole tool names no command.
func allows(rule string, words []string) bool {
	text, command := ruleText(rule), strings.Join(words, " ")
	if fits(text, command) || !strings.ContainsAny(text, `"'\`) {
		return fits(text, command)
	}
	list := commands(text)
	return len(list) == 1 && fits(strings.Join(list[0], " "), command)
}

// ruleText returns the command of a permission rule, with * for any end, or "".
func ruleText(rule string) string {
	text, isBash := strings.CutPrefix(rule, "Bash(")
	text, ends := strings.CutSuffix(text, ")")
	if !isBash || !ends || strings.Trim(text, `:* "'\`) == "" {
		return ""
	}
	if begin, open := strings.CutSuffix(text, ":*"); open {
		text = begin + " *"
	}
	return unescape.Replace(text)
}

// fits reports whether a command fits the text of a permission rule.
func fits(text, command string) bool {
	parts := strings.Split(text, "*")
	if len(parts) == 1 {
		return command != "" && command == parts[0]
	}
	rest, ok := strings.CutPrefix(command, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	last := parts[len(parts)-1]
	return ok && strings.HasSuffix(rest, last) || last == "" && command == strings.TrimSpace(parts[0])
}

// editable returns the file or directory that a permission rule for an editing tool names, such as Edit(//etc/app/**),
// or "". dir and home are slash-separated.
func editable(rule, dir, home string) string {
	tool, at, _ := strings.Cut(rule, "(")
	at, ends := strings.CutSuffix(at, ")")
	if !ends || !slices.Contains(editingTools, tool) {
		return ""
	}
	if i := strings.IndexAny(at, "*?["); i >= 0 {
		at = at[:strings.LastIndex(at[:i], "/")+1]
	}
	switch {
	case strings.HasPrefix(at, "//"):
		return path.Clean(at)
	case strings.HasPrefix(at, "~/"):
		return path.Join(home, at[2:])
	}
	return path.Join(dir, at)
}
