package runner

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"wavex/internal/textfmt"
)

// This file removes from an output the parts that differ between two attempts with the same error:
// roots and temporary paths, line numbers, times, addresses and durations. It removes no other
// number and no name.

// normaliser removes the parts of an output that say nothing about an error. The zero value knows no
// paths of a task.
type normaliser struct {
	roots []string // absolute folders, removed from the front of paths
	temp  string   // TMPDIR, one of the roots; "": only the usual places of temporary files
}

// newNormaliser returns the normaliser for a task that works in dir. It removes dir, the root of its
// repository, and the attempt's folder, also by their paths without links.
func newNormaliser(temp, dir, logDir string) normaliser {
	n := normaliser{temp: strings.TrimRight(temp, "/")}
	for top := dir; top != filepath.Dir(top); top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			n.roots = append(n.roots, top)
			break
		}
	}
	n.roots = append(n.roots, dir)
	if logDir != "" {
		n.roots = append(n.roots, logDir)
	}
	for _, root := range n.roots {
		if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
			n.roots = append(n.roots, real)
		}
	}
	if n.temp != "" {
		n.roots = append(n.roots, n.temp) // it may lie in another root, or that in it
	}
	slices.SortFunc(n.roots, func(a, b string) int { return len(b) - len(a) })
	return n
}

// lines returns the normalised lines of an output, without blank ones.
func (n normaliser) lines(output string) []string {
	var out []string
	for line := range strings.Lines(textfmt.StripANSI(strings.ToValidUTF8(output, "?"))) {
		if line = n.line(strings.TrimRightFunc(line, unicode.IsSpace)); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// line normalises one line. The result has no white space at its end.
func (n normaliser) line(s string) string {
	s = n.cutTemp(n.cutRoots(s))
	s = strings.ReplaceAll(s, "(cached)", blank) // go test prints it in place of a duration
	if strings.ContainsAny(s, "0123456789") && !countOfFile().MatchString(s) {
		for _, k := range tokens {
			s = k.remove(s)
		}
	}
	return strings.TrimRight(s, " \t"+blank)
}

// blank replaces a token that was removed. No token has it.
const blank = "¤"

const (
	clock    = `\d{1,2}:\d\d:\d\d(?:[.,]\d+)?`
	measure  = `\d+(?:\.\d+)?(?: ?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)|[mh])`
	duration = `(?:` + measure + ` ?)*` + measure
	file     = `(?:[\w@+~.-]*[/\\])+[\w@+~.-]+|[\w@+~-][\w@+~.-]*\.[A-Za-z_]\w*|\w*[Ff]ile`
)

// token is a kind of token that tells nothing. It stays where a test compares it, as in "timeout = 1m30s".
type token struct {
	find func() *regexp.Regexp
	put  string // replaces it
}

// tokens are the kinds in the order in which they are removed. They know the form of a token, and hardly any tool.
var tokens = []token{
	// Times.
	{textfmt.Pattern(`\b20\d\d[-/]\d\d[-/]\d\d[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d+)?)?` +
		`(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?`), blank},
	{textfmt.Pattern(`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d\d? [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{2} +\d\d?) ` +
		clock + `(?: [A-Z]{3,4}\b)?(?: \d{4}\b)?`), blank},
	{textfmt.Pattern(`\b(?:` + clock + `|\d\d:\d\d min)\b`), blank},
	// Durations. Tools leave out a short one in parentheses.
	{textfmt.Pattern(`\s*\((?:` + duration + `|¤)\)`), ""},
	{textfmt.Pattern(`\b` + duration + `\b`), blank},
	{textfmt.Pattern(`(?i)(\b(?:duration|elapsed|time)` +
		`(?:_(?:ns|us|ms|s|secs?|seconds)["']?[:= ]|["']?[:=]) *)\d+(?:\.\d+)?\b`), "${1}¤"},
	// Addresses. The ports are those that a system gives to a socket without one.
	{textfmt.Pattern(`\b0x[0-9a-f]{6,16}\b|\+0x[0-9a-f]+\b`), blank},
	{textfmt.Pattern(`([\w$]@)[0-9a-f]{5,8}\b`), "${1}¤"},
	{textfmt.Pattern(`((?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0|\[::1?\]):)` +
		`(?:32[89]\d\d|3[3-9]\d{3}|[4-6]\d{4})\b`), "${1}¤"},
	// Positions.
	{textfmt.Pattern(`^\s*\d+:\d+(?:-\d+)?\s+`), "  ¤ "},
	{textfmt.Pattern(`^(\S*(?:/\S+|\.\w+|sh): )\d+(: )`), "${1}¤${2}"}, // sh: 3: x: not found
	{textfmt.Pattern(`(` + file + `):\d+(?::\d+)?([^\w/]|$)`), "${1}:¤${2}"},
	{textfmt.Pattern(`(\.[A-Za-z]\w*)\(\d+(?:,\d+){0,3}\)(: (?:fatal )?(?:error|warning|info|note)\b)`), "${1}¤${2}"},
	{textfmt.Pattern(`(\b[Ll]ine)s? \d+(?:-\d+)?\b(?:,? col(?:umn)? \d+\b)?(?: \(char \d+\))?`), "${1} ¤"},
	{textfmt.Pattern(`^\d+(?:,\d+)?([acd])\d+(?:,\d+)?$`), "¤${1}¤"},            // diff
	{textfmt.Pattern(`^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`), "@@ -¤${1} +¤${2} @@"}, // diff -u
}

var (
	countOfFile = textfmt.Pattern(`^[\w@+~.][\w@+~./-]*:\d+$`) // grep -c
	// compared matches a text in front of a value that a test compares.
	compared = textfmt.Pattern(`(?i)(?:\s(?:[=!]=?=?|[<>]=?)|` +
		`\b(?:got|want|wants|wanted|expected|actual|was|is|equals?|to be)\b ?[:=]?)\s*["'` + "`" + `(]*$`)
)

// remove removes the tokens of a kind from a line.
func (k token) remove(s string) string {
	re := k.find()
	var out []byte
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		before := s[max(0, m[0]-24):m[0]]
		if compared().MatchString(before) || strings.HasSuffix(before, ":") && s[m[0]] == '/' { // a URL
			continue
		}
		out = append(out, s[end:m[0]]...)
		out = re.ExpandString(out, k.put, s, m)
		end = m[1]
	}
	return string(append(out, s[end:]...))
}

// cutRoots removes the roots. It replaces TMPDIR by the usual place of temporary files.
func (n normaliser) cutRoots(s string) string {
	for _, root := range n.roots {
		with := blank
		if root == n.temp {
			with = "/tmp"
		}
		s = replacePath(s, root, with)
	}
	return s
}

// cutTemp removes the parts of temporary paths that are chosen at random.
func (n normaliser) cutTemp(s string) string {
	if !strings.Contains(s, "/tmp") && !strings.Contains(s, "/var/folders") {
		return s
	}
	return temporaryPath().ReplaceAllStringFunc(s, func(path string) string {
		m := temporaryPath().FindStringSubmatch(path)
		if m[3] != "" { // cut off: the end depends on the length of the random part
			return m[1] + "/tmp/" + m[3]
		}
		parts := strings.Split(m[2], "/")
		for i, part := range parts {
			parts[i] = cutRandom(part, i < len(parts)-1)
		}
		return m[1] + "/tmp" + strings.Join(parts, "/")
	})
}

// replacePath replaces an absolute path, and the same path in front of longer ones.
func replacePath(s, path, with string) string {
	path = strings.TrimRight(path, "/")
	if path == "" || !strings.Contains(s, path) {
		return s
	}
	short := strings.Count(path, "/") < 2 // may be a part of another path
	var b strings.Builder
	for {
		i := strings.Index(s, path)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(path)
		b.WriteString(s[:i])
		if short && b.Len() > 0 && isPathByte(b.String()[b.Len()-1]) || end < len(s) && isPathByte(s[end]) {
			b.WriteString(path)
		} else {
			b.WriteString(with)
		}
		s = s[end:]
	}
}

// isPathByte reports whether a byte continues the name of a file.
func isPathByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

var (
	temporaryPath = textfmt.Pattern(`(^|[^\w.~¤-])(?:/private)?(?:/tmp|/var/tmp|/var/folders/\w+/\w+/T)` +
		`((?:/[\w.@+~=-]*[\w@+~=-])+)(\.\.\.)?`)
	randomFile   = textfmt.Pattern(`^tmp(?:[a-z0-9_]{8}|\.\w{10})$`)
	randomSuffix = textfmt.Pattern(`[-._][A-Za-z0-9]{6,12}$`)
	digits       = textfmt.Pattern(`\d+`)
	manyDigits   = textfmt.Pattern(`\d{4,}`)
)

// cutRandom removes the random part of a name below the folder of temporary files. In a folder, each
// number counts as random.
func cutRandom(name string, folder bool) string {
	if randomFile().MatchString(name) {
		return "tmp"
	}
	if at := randomSuffix().FindStringIndex(name); at != nil && looksRandom(name[at[0]+1:]) {
		name = name[:at[0]+1]
	}
	if folder {
		return digits().ReplaceAllString(name, "")
	}
	return manyDigits().ReplaceAllString(name, "")
}

// looksRandom reports whether a name mixes capitals, small letters and digits as random names and
// hashes do.
func looksRandom(name string) bool {
	lower := strings.ContainsFunc(name, unicode.IsLower)
	return lower && strings.ContainsFunc(name[1:], unicode.IsUpper) ||
		(lower || strings.ContainsFunc(name, unicode.IsUpper)) && strings.ContainsAny(name, "0123456789")
}
