package scan

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file looks at Go, JavaScript and TypeScript as text. It separates comments from code, and
// parses nothing: a new file is an orphan if no other file mentions it. It leaves imports to compilers.

// Comments, and strings on one line.
const tokens = `(?s)//[^\n]*|/\*.*?(?:\*/|\z)|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`

var (
	sourceRe      = lazyregexp.New(`\.(?:go|(?:d\.)?[cm]?[jt]sx?)$`)
	testRe        = lazyregexp.New(`_test\.go$|\.(?:test|spec)\.\w+$|(?:^|/)testdata/`)
	generatedRe   = lazyregexp.New(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	goTokenRe     = lazyregexp.New(tokens + "`[^`]*`")
	scriptTokenRe = lazyregexp.New(tokens + "`(?:[^`\\\\]|\\\\.)*`")

	// A function whose whole body reports an error: its name, "" for that of a script, and the error's text.
	goStubRe = lazyregexp.New(`(?m)^func\s+(?:\([^)\n]*\)\s*)?(\w+)(?:interface\{\}|struct\{\}|[^\n{}]|\n[\t )])*` +
		`\{\s*(?:panic\(\s*(?:(?:errors\.New|fmt\.Errorf)\(\s*)?|return\s[^\n;{}"]*?(?:errors\.New|fmt\.Errorf)\(\s*)` +
		`"((?:[^"\\\n]|\\.)*)"[^\n;{}]*\s*\}`)
	scriptStubRe = lazyregexp.New(`()\{\s*throw\s+new\s+\w*Error\s*\(\s*['"]([^'"\n]*)['"]\s*\)\s*;?\s*\}`)
	unfinishedRe = lazyregexp.New(`(?i)^todo|not (?:yet )?implemented|unimplemented|implement me`)

	exportedRe = lazyregexp.New(`\bexport\s+(?:(?:declare|abstract|async|const|let|var|function|class|` +
		`interface|type|enum|namespace)\b[\s*]*)+([\w$]+)`)

	// Files that have other users than imports: tests, settings, entry points, and the folders whose files
	// a framework finds by itself.
	entryPointRe = lazyregexp.New(`(?:^|/)\.[^/]*$|rc\.\w+$|\.(?:test|spec|stories|config|setup|d)\.\w+$|` +
		`(?:^|/)(?:index|main|app|server|cli|middleware|instrumentation|setup[\w-]*)\.\w+$|` +
		`(?:^|/)(?:tests?|__tests__|__mocks__|e2e|bin|scripts|pages|app|routes|api|public|migrations|stories|` +
		`workers?|functions|commands|plugins)/`)
	documentRe = lazyregexp.New(`\.(?:md|markdown|txt|lock|map|svg)$`)
)

// scanCode looks at a Go file or a script.
func (p *project) scanCode(name, text string, isNew bool) (out []Gap) {
	if !sourceRe().MatchString(name) || generatedRe().MatchString(text) {
		return nil
	}
	isGo, token, stub := path.Ext(name) == ".go", scriptTokenRe, scriptStubRe
	if isGo {
		token, stub = goTokenRe, goStubRe
	}
	code := token().ReplaceAllStringFunc(text, blankComment)
	for _, m := range stub().FindAllStringSubmatchIndex(code, -1) {
		function, says := code[m[2]:m[3]], code[m[4]:m[5]]
		if testRe().MatchString(name) || !unfinishedRe().MatchString(says) {
			continue
		}
		description := function + " is not implemented"
		if function == "" {
			description = "a function is not implemented: " + says
		}
		out = append(out, Gap{Type: Stub, File: name, Line: lineOf(code, m[0]), Description: description, Evidence: says})
	}
	if isNew && (isGo && p.isGoOrphan(name, code) || !isGo && p.isScriptOrphan(name, code)) {
		out = append(out, Gap{Type: Orphan, File: name, Description: "no file of the project imports or names it"})
	}
	return out
}

// isGoOrphan reports whether a file is the first new one of a package below internal whose path no other
// package has. Other modules cannot import it, so it is unused.
func (p *project) isGoOrphan(name, code string) bool {
	dir := "/" + path.Dir(name)
	at := strings.LastIndex(dir+"/", "/internal/")
	isMain := strings.HasPrefix(strings.TrimSpace(code), "package main")
	if at < 0 || p.searched[dir] || isMain || testRe().MatchString(name) {
		return false
	}
	p.searched[dir] = true
	imported := dir[at:] + `"`
	return !p.isMentioned([]string{imported}, regexp.MustCompile(regexp.QuoteMeta(imported)),
		func(other string) bool { return path.Ext(other) == ".go" && path.Dir(other) != path.Dir(name) })
}

// isScriptOrphan reports whether no file of the project has a module's name in a path, or the name of
// one of its exports. Documents are not users.
func (p *project) isScriptOrphan(name, code string) bool {
	if entryPointRe().MatchString(name) || !strings.Contains(code, "export") {
		return false
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	words, pattern := []string{stem}, "[/'\"`]"+regexp.QuoteMeta(stem)+"[.'\"`]"
	for _, m := range exportedRe().FindAllStringSubmatch(code, -1) {
		words, pattern = append(words, m[1]), pattern+`|(?:^|[^\w$])`+regexp.QuoteMeta(m[1])+`(?:[^\w$]|$)`
	}
	return !p.isMentioned(words, regexp.MustCompile(pattern),
		func(other string) bool { return other != name && !documentRe().MatchString(other) })
}

// isMentioned reports whether one of the files that isUser accepts matches a pattern, or there are too
// many files to tell. A match has one of the words.
func (p *project) isMentioned(words []string, pattern *regexp.Regexp, isUser func(file string) bool) bool {
	all, whole := p.files()
	return !whole || slices.ContainsFunc(all, func(file string) bool {
		if !isUser(file) || slices.Contains(p.notUsers, file) {
			return false
		}
		text, _ := p.read(file)
		hasWord := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
		return hasWord && pattern.MatchString(text)
	})
}

// blankComment replaces a comment, and a string that may span lines or has quotes within it, perhaps an
// import, with blanks.
func blankComment(token string) string {
	if token[0] == '/' || token[0] == '`' || strings.ContainsAny(token[1:len(token)-1], "'\"`") {
		return blank(token)
	}
	return token
}

// blank replaces every byte but ends of lines with a blank.
func blank(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}
