package cmd

import (
	"cmp"
	"strings"
)

// This file finds out whether a terminal can show more than ASCII. A pipe and a file get
// UTF-8 whatever the locale is: they are read elsewhere.

// asciiOnly tells whether nothing beyond ASCII of our own is to be written to out: given
// says so, or out is a terminal of a locale that is named and is not one of UTF-8.
func asciiOnly(given bool, out any, getenv func(string) string) bool {
	return given || isTerminal(out) && !utf8Locale(getenv)
}

// utf8Locale goes by the variables of the locale in their order of force. Where none is
// set, as in most containers and on Windows, terminals take UTF-8.
func utf8Locale(getenv func(string) string) bool {
	name := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return name == "" || strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}
