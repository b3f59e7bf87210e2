package plan

// This file reads the isolation of a plan: where tasks work, which files their worktrees need,
// which paths are protected, and which resources only one task may use at a time. It knows nothing
// of git and does not check that a path exists.

import (
	"path"
	"slices"
	"strings"

	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

// The prefixes of entries in share and protect.
const (
	copyPrefix   = "copy:"
	branchPrefix = "branch:"
)

// isolationFields returns the isolation fields of a plan.
func isolationFields() []field[Plan] {
	return []field[Plan]{
		{"isolation", func(d *decoder, p *Plan, t source.Token) { d.enum(&p.Isolation, t, "auto", "shared", "worktree") }},
		{"deliver", func(d *decoder, p *Plan, t source.Token) {
			d.enum(&p.Deliver, t, "auto", "branch", "ff", "push", "pr")
		}},
		{"share", func(d *decoder, p *Plan, t source.Token) {
			p.SharePos = d.src.Pos(t.At)
			d.prefixedList(&p.Share, t, copyPrefix, d.relativePath)
		}},
		{"setup", func(d *decoder, p *Plan, t source.Token) {
			if t.Kind == source.KindString {
				d.nonEmptyString(&p.Setup.Run, t)
			} else if _, ok := d.setupType.decode(d, &p.Setup, t); ok && p.Setup.Run == "" {
				d.errorf(t.At, CodeMissingField, `a setup needs run, like {"run": "npm ci", "when": "package-lock.json"}`)
			}
		}},
		{"protect", func(d *decoder, p *Plan, t source.Token) {
			var all []string
			d.prefixedList(&all, t, branchPrefix, d.protected)
			for _, s := range all {
				if branch, ok := strings.CutPrefix(s, branchPrefix); ok {
					p.ProtectBranches = append(p.ProtectBranches, branch)
				} else {
					p.ProtectPaths = append(p.ProtectPaths, s)
				}
			}
		}},
	}
}

func setupFields() []field[Setup] {
	return []field[Setup]{
		{"run", func(d *decoder, s *Setup, t source.Token) { d.nonEmptyString(&s.Run, t) }},
		{"when", func(d *decoder, s *Setup, t source.Token) { d.prefixedList(&s.When, t, "", d.relativePath) }},
		{"clean", func(d *decoder, s *Setup, t source.Token) { s.Clean, _ = d.boolean(t) }},
	}
}

// prefixedList reads a list of paths, or of other values that begin with prefix. One string counts as a
// list of one.
func (d *decoder) prefixedList(dst *[]string, t source.Token, prefix string, read func(*string, source.Token)) {
	one := func(t source.Token) {
		rest, has := strings.CutPrefix(t.Text, prefix)
		if t.Kind == source.KindString && has {
			t.Text = rest
		}
		var s string
		if has && prefix == branchPrefix {
			d.pattern(&s, t, d.nonEmptyString)
		} else {
			read(&s, t)
		}
		if s == "" {
			return
		}
		if has {
			s = prefix + s
		}
		*dst = append(*dst, s)
	}
	if t.Kind == source.KindString {
		one(t)
		return
	}
	d.list(t, "a list of paths", func(_ int, e source.Token) { one(e) })
}

// pattern reads a text with read and refuses it unless it is a pattern of path.Match.
func (d *decoder) pattern(dst *string, t source.Token, read func(*string, source.Token)) {
	read(dst, t)
	if _, err := path.Match(*dst, ""); err != nil {
		d.errorf(t.At, CodeBadPattern, "%s is no pattern: close the bracket, or put a \\ before it", source.Quote(*dst))
		*dst = ""
	}
}

// protected reads a path to protect, or a pattern of path.Match, in which ** and braces would protect less than they
// say.
func (d *decoder) protected(dst *string, t source.Token) {
	d.pattern(dst, t, d.relativePath)
	switch {
	// A ** at the end matches the content of a folder, and a protected folder protects its content.
	case *dst != "**" && slices.Contains(strings.Split(strings.TrimSuffix(*dst, "/**"), "/"), "**"):
		d.errorf(t.At, CodeBadPattern, "%s: ** has a meaning at the end only; name a folder, which is protected with its "+
			"contents, or write one pattern for each depth", source.Quote(*dst))
	case hasBraces(*dst):
		d.errorf(t.At, CodeBadPattern, "%s: braces have no meaning in a pattern; write one for each word in them",
			source.Quote(*dst))
	}
}

// hasBraces reports whether a pattern has a list in braces, which path.Match takes for plain characters.
func hasBraces(pattern string) bool { return braces().MatchString(pattern) }

var braces = textfmt.Pattern(`\{(?:[^]{}][^{}]*,[^{}]*|,[^]{}]+)\}`)
