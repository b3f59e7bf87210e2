package runner

import (
	"regexp"
	"strings"
	"unicode"

	"wavex/internal/textfmt"
)

// This file holds the classes of tokens that may differ between two checks of the same tree. They
// know the form of a token, and hardly any tool.

// blank replaces a token that was removed. No class matches it.
const blank = "¤"

// tokenClass is a class of tokens in a line.
type tokenClass struct {
	with    string // is in every line with such a token; saves time
	put     string // replaces the token
	measure bool   // kept where a test compares it, as in "timeout = 1m30s"
	find    func() *regexp.Regexp
}

const (
	clock    = `\d{1,2}:\d\d:\d\d(?:[.,]\d+)?`
	duration = `\d+(?:\.\d+)?(?: ?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)|[mh])`
	file     = `(?:[\w@+~.-]*[/\\])+[\w@+~.-]+|[\w@+~-][\w@+~.-]*\.[A-Za-z_]\w*|\w*[Ff]ile`
)

// tokenClasses are the classes in the order in which they are removed.
var tokenClasses = []tokenClass{
	// Times.
	{"20", "¤", true, textfmt.Pattern(`\b20\d\d[-/]\d\d[-/]\d\d[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d+)?)?` +
		`(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?`)},
	{":", "¤", true, textfmt.Pattern(`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ` +
		`(?:\d\d? [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{2} +\d\d?) ` + clock + `(?: [A-Z]{3,4}\b)?(?: \d{4}\b)?`)},
	{":", "¤", true, textfmt.Pattern(`\b(?:` + clock + `|\d\d:\d\d min)\b`)},
	{"<", "[¤", false, textfmt.Pattern(`\[\d\d:\d\d<[\d:?]+`)}, // the estimate of a progress bar
	// Durations, and the rates that follow from them.
	{"/s", "¤", true, textfmt.Pattern(`\b\d+(?:\.\d+)? ?(?:[kKMG]i?)?(?:B|b|bit|bytes|it|req|ops?)/s\b`)},
	{"", "¤", true, textfmt.Pattern(`\b(?:` + duration + ` ?)*` + duration + `\b`)},
	{"", "${1}¤", false, textfmt.Pattern(`(?i)(\b(?:duration|elapsed|time)` +
		`(?:_(?:ns|us|ms|s|secs?|seconds)["']?[:= ]|["']?[:=]) *)\d+(?:\.\d+)?\b`)},
	// Numbers of processes, threads and workers; shares of progress; seeds; UUIDs.
	{"", "${1}¤", false, textfmt.Pattern(`(\b(?:[Gg]oroutine|[Tt]hread|pid|PID)[ =:#-]*)\d+\b`)},
	{"", "¤", false, textfmt.Pattern(`==\d+==|\(node:\d+\)|\[gw\d+\]|\[ *\d+%\]`)},
	{"thread '", "${1}", false, textfmt.Pattern(`(\bthread '.*') \(\d+\)`)},
	{"line ", "${1}¤${2}", false, textfmt.Pattern(`(\bline \d+: *)\d+( +[A-Z])`)}, // bash: line 3: 123 Killed
	{"", "${1}¤", false, textfmt.Pattern(`(?i)(\b(?:seed|shuffle)\b[ :=]*)\d+\b`)},
	{"-", "¤", false, textfmt.Pattern(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	// Addresses. The ports are those that a system gives to a socket without one.
	{"0x", "¤", true, textfmt.Pattern(`\b0x[0-9a-f]{6,16}\b`)},
	{"+0x", "¤", false, textfmt.Pattern(`\+0x[0-9a-f]+\b`)},
	{"@", "${1}¤", false, textfmt.Pattern(`([\w$]@)[0-9a-f]{5,8}\b`)},
	{":", "${1}¤", false, textfmt.Pattern(`((?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0|\[::1?\]):)` +
		`(?:32[89]\d\d|3[3-9]\d{3}|[4-6]\d{4})\b`)},
	// The ids of git's objects.
	{"index ", "${1}¤", false, textfmt.Pattern(`^(index )[0-9a-f]{7,64}\.\.[0-9a-f]{7,64}\b`)},
	{"-g", "${1}¤", false, textfmt.Pattern(`(\d-g)[0-9a-f]{7,64}\b`)},
	// Positions.
	{":", "  ¤ ", false, textfmt.Pattern(`^\s*\d+:\d+(?:-\d+)?\s+`)},
	{": ", "${1}¤${2}", false, textfmt.Pattern(`^(\S*(?:/\S+|\.\w+|sh): )\d+(: )`)}, // sh: 3: x: not found
	{":", "${1}:¤${2}", true, textfmt.Pattern(`(` + file + `):\d+(?::\d+)?([^\w/]|$)`)},
	{"(", "${1}¤${2}", false, textfmt.Pattern(`(\.[A-Za-z]\w*)\(\d+(?:,\d+){0,3}\)` +
		`(: (?:fatal )?(?:error|warning|info|note)\b)`)},
	{"ine", "${1} ¤", true, textfmt.Pattern(`(\b[Ll]ine)s? \d+(?:-\d+)?\b(?:,? col(?:umn)? \d+\b)?` +
		`(?: \(char \d+\))?`)},
	{"", "¤${1}¤", false, textfmt.Pattern(`^\d+(?:,\d+)?([acd])\d+(?:,\d+)?$`)},              // diff
	{"@@", "@@ -¤${1} +¤${2} @@", false, textfmt.Pattern(`^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)}, // diff -u
}

// compared matches a text in front of a value that a test compares.
var compared = textfmt.Pattern(`(?i)(?:\s(?:[=!]=?=?|[<>]=?)|` +
	`\b(?:got|want|wants|wanted|expected|actual|was|is|equals?|to be)\b ?[:=]?)\s*["'` + "`" + `(]*$`)

// remove removes the tokens of the class from a line.
func (c tokenClass) remove(s string) string {
	if !strings.Contains(s, c.with) {
		return s
	}
	re := c.find()
	if !c.measure {
		return re.ReplaceAllString(s, c.put)
	}
	var out []byte
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		before := s[max(0, m[0]-24):m[0]]
		if compared().MatchString(before) || strings.HasSuffix(before, ":") && s[m[0]] == '/' { // a URL
			continue
		}
		out = append(out, s[end:m[0]]...)
		out = re.ExpandString(out, c.put, s, m)
		end = m[1]
	}
	if end == 0 {
		return s
	}
	return string(append(out, s[end:]...))
}

// hashedName finds the hash of its content in the name of a built file.
var hashedName = textfmt.Pattern(`[-.](?:[A-Za-z0-9_-]{8}|[0-9a-f]{8,32})\.[a-z]\w{0,4}\b`)

// removeHash removes the hash in a match of hashedName.
func removeHash(name string) string {
	dot := strings.LastIndexByte(name, '.')
	hash := name[1:dot]
	hex := strings.Trim(hash, "0123456789abcdef") == ""
	mixed := strings.ContainsFunc(hash, unicode.IsLower) && strings.ContainsFunc(hash, unicode.IsUpper)
	if !strings.ContainsAny(hash, "0123456789") || !hex && !mixed || strings.Trim(hash, "0123456789") == "" {
		return name
	}
	return name[:1] + blank + name[dot:]
}
