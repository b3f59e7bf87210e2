package checkfiles

import (
	"path"
	"slices"
	"strings"
)

// This file splits shell commands. It does not parse the shell's language, only quotes and operators.

// invocation is one program of a shell command, with its arguments.
type invocation struct {
	dir   string
	words []string
}

// shellWords precede a program.
var shellWords = []string{"!", "{", "if", "elif", "then", "else", "while", "until", "do", "exec", "time", "env",
	"command", "nohup", "@", "-", "@-", "npx", "pnpx", "bunx", "uv", "poetry", "bundle", "xvfb-run", "run"}

// invocations returns the programs that a command runs in dir. It omits words with variables.
func invocations(dir, command string) (all []invocation) {
	var words []string
	end := func() {
		switch {
		case len(words) > 1 && words[0] == "cd":
			dir = path.Join(dir, words[1])
		case len(words) > 0:
			all = append(all, invocation{dir, words})
		}
		words = nil
	}
	for _, f := range strings.FieldsFunc(spaceOperators(command),
		func(r rune) bool { return strings.ContainsRune(" \t\r\"'()<>`", r) }) {
		if len(words) == 0 {
			f = strings.TrimLeft(f, "@-")
		}
		switch {
		case strings.Trim(f, ";&|") == "":
			end()
		case len(words) == 0 && (isAssignment(f) || slices.Contains(shellWords, f)), strings.Contains(f, "$"):
		default:
			words = append(words, f)
		}
	}
	end()
	return all
}

// limited returns the words of the program that timeout or nice starts, or else words.
func limited(words []string) []string {
	for len(words) > 0 && (words[0] == "timeout" || words[0] == "nice") {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Trim(words[0], "0123456789.smhd") == "") {
			words = words[1:]
		}
	}
	return words
}

// isAssignment reports whether a word sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// spaceOperators puts spaces around the shell's separators, and turns line ends into separators.
func spaceOperators(s string) string {
	return strings.NewReplacer("\\\n", " ", "\n", " ; ", ";", " ; ", "&", " & ", "|", " | ").Replace(s)
}

// operands returns the arguments that are no options.
func (v invocation) operands() (out []string) {
	for _, w := range v.words[1:] {
		if !strings.HasPrefix(w, "-") && !isAssignment(w) {
			out = append(out, w)
		}
	}
	return out
}

// option returns the argument of an option such as -C, or "".
func (v invocation) option(name string) string {
	for i, w := range v.words {
		if w == name && i+1 < len(v.words) {
			return v.words[i+1]
		}
		if rest, ok := strings.CutPrefix(w, name+"="); ok {
			return rest
		}
	}
	return ""
}
