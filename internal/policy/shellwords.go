package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file reads the plain form of commands in shell text. It follows no variable, no directory and no text in a text.

// unknown stands for a word that is not literal.
const unknown = "\x00"

// wrappers are commands that run the one behind them.
var wrappers = []string{"command", "env", "nice", "nohup", "sudo", "time"}

// commands returns the words of each simple command of a command line, also in subshells and substitutions. A text
// that cannot be parsed has no commands.
func commands(text string) (list [][]string) {
	defer func() { _ = recover() }() // the parser is not ours; a text that breaks it tells nothing
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		c, is := n.(*syntax.CallExpr)
		if !is || len(c.Args) == 0 {
			return true
		}
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			words[i] = literal(w.Parts)
		}
		list = append(list, words)
		for len(words) > 1 && slices.Contains(wrappers, path.Base(words[0])) && !strings.HasPrefix(words[1], "-") {
			words = words[1:]
			for len(words) > 1 && strings.Contains(words[0], "=") {
				words = words[1:]
			}
			list = append(list, words)
		}
		return true
	})
	return list
}

// literal returns the text of a word without its quotes, or unknown.
func literal(parts []syntax.WordPart) string {
	text := ""
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(p.Value, `\`, "")
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			text += literal(p.Parts)
		default:
			text += unknown
		}
	}
	if strings.Contains(text, unknown) {
		return unknown
	}
	return text
}
