package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"wavex/internal/textfmt"
)

// This file removes from an output all that may differ when the same tree is checked twice: roots and
// temporary paths, line numbers, times, addresses, durations, and the numbers of processes. It
// removes no other number and no name.

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

// passes bounds the passes of lines. What one pass removes may reveal more to the next one; two are
// usual, the second of which changes nothing.
const passes = 10

// lines returns the normalised lines of an output, without those that then tell nothing.
func (n normaliser) lines(output string) []string {
	lines := n.pass(output)
	for range passes {
		next := n.pass(strings.Join(lines, "\n"))
		if slices.Equal(next, lines) {
			break
		}
		lines = next
	}
	return lines
}

// pass removes once all that it finds.
func (n normaliser) pass(output string) []string {
	output = frameNumber().ReplaceAllString(output, "")
	output = strings.Map(func(r rune) rune {
		if r == '\x1b' || r >= '\u0080' && r <= '\u009f' { // not the start of another sequence with what follows
			return -1
		}
		return r
	}, textfmt.StripANSI(strings.ToValidUTF8(output, "?")))
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		lines[i] = lastFrame(line)
	}
	cutCodeFrames(lines)
	out := lines[:0]
	for _, line := range lines {
		if line = n.line(line); strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return out
}

var (
	countOfFile = textfmt.Pattern(`^[\w@+~.][\w@+~./-]*:\d+$`) // grep -c
	timeSummary = textfmt.Pattern(`(?i)^(\W*(?:\[\w+\] )?(?:total |elapsed )?(?:time|duration|elapsed)\b[^¤]*)¤.*$`)
	onlyBlanks  = textfmt.Pattern(`\s*\(¤(?:, ¤)*\)`)
	// cacheReport matches the line of a package manager or compiler about one package or all: a full
	// cache saves it.
	cacheReport = textfmt.Pattern(`(?i)^\s*(?:\w+: )?(?:download|fetch|compil|unpack)(?:ing|ed) ` +
		`(?:\S+[ @]v?\d[\w.+-]*(?: \(\S*\))?|\d+ \w+ \([^)]*\) in ¤)$`)
	caretLine = textfmt.Pattern(`^\s*[~^]+\s*$`)
)

// line normalises one line. The result has no white space at its end.
func (n normaliser) line(s string) string {
	s = n.cutTemp(n.cutRoots(s))
	s = strings.ReplaceAll(s, "(cached)", blank) // stands where the duration would
	if strings.ContainsAny(s, "0123456789") && !countOfFile().MatchString(s) {
		for _, c := range tokenClasses {
			s = c.remove(s)
		}
		s = hashedName().ReplaceAllStringFunc(s, removeHash)
	}
	if strings.Contains(s, blank) {
		s = timeSummary().ReplaceAllString(s, "${1}¤")
		s = onlyBlanks().ReplaceAllString(s, "")
	}
	switch {
	case cacheReport().MatchString(s):
		return ""
	case caretLine().MatchString(s):
		return "^"
	}
	return strings.TrimRight(shortenRulers(s), " \t"+blank)
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

// shortenRulers cuts the runs of a character that rules a line, whose length depends on the text
// beside it.
func shortenRulers(s string) string {
	if !strings.ContainsAny(s, rulers) {
		return s
	}
	var b strings.Builder
	run, last := 0, rune(-1)
	for _, r := range s {
		if run++; r != last {
			run, last = 1, r
		}
		if run <= 4 || !strings.ContainsRune(rulers, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const rulers = "=-_~^*#─━⎯"

// lastFrame returns the visible text of a line that carriage returns overwrite, or "" if that has no
// letter: the numbers of a progress meter.
func lastFrame(line string) string {
	line = strings.TrimRight(line, "\r")
	i := strings.LastIndexByte(line, '\r')
	if i < 0 {
		return line
	}
	if line = line[i+1:]; !strings.ContainsFunc(line, unicode.IsLetter) {
		return ""
	}
	return line
}

var (
	frameLine   = textfmt.Pattern(`^\s*([>❯]?)\s*(\d*)\s*[|│]( ?.*)$`)
	frameCaret  = textfmt.Pattern(`^\s*[\^~+-]+`)
	frameNumber = textfmt.Pattern(`(?m)^\x1b\[7m\s*\d*\s*\x1b\[0m`) // reverse video, without a bar
)

// cutCodeFrames removes the line numbers beside quoted source, as compilers print it. Lines with a
// bar are source where one of their group has a caret instead of a number; else they may be a table.
func cutCodeFrames(lines []string) {
	for i := 0; i < len(lines); i++ {
		group, caret := i, false
		for ; i < len(lines); i++ {
			m := frameLine().FindStringSubmatch(lines[i])
			if m == nil {
				break
			}
			caret = caret || m[1]+m[2] == "" && frameCaret().MatchString(m[3])
		}
		for k := group; caret && k < i; k++ {
			m := frameLine().FindStringSubmatch(lines[k])
			if m[1]+m[2] == "" {
				m[3] = frameCaret().ReplaceAllString(m[3], " ^")
			}
			lines[k] = m[1] + "|" + m[3]
		}
	}
}
