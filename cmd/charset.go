package cmd

import (
	"cmp"
	"strings"
)

// This file finds out whether a terminal can show more than ASCII. Pipes and files get UTF-8 in
// every locale, because they are read elsewhere.

// asciiOnly reports whether wavex may write only ASCII of its own to out: either given says so, or
// out is a terminal whose locale is set and is not UTF-8.
func asciiOnly(given bool, out any, getenv func(string) string) bool {
	return given || isTerminal(out) && !utf8Locale(getenv)
}

// utf8Locale reports whether the locale is UTF-8. It reads the locale's variables in their order of
// precedence. If none is set, as in most containers and on Windows, terminals take UTF-8.
func utf8Locale(getenv func(string) string) bool {
	name := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return name == "" || strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}
