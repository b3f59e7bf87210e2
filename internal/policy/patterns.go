package policy

// This file matches simple commands and names of tools with the patterns that deny them and the permission rules that
// allow them.

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
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

// isTool reports whether a word has the form of a tool's name.
func isTool(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t(/") &&
		(s[0] >= 'A' && s[0] <= 'Z' || strings.HasPrefix(s, "mcp__"))
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

var unescape = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`)

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
