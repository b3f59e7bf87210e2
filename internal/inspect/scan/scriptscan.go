package scan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file looks at JavaScript and TypeScript as text: it separates comments and strings from
// code and parses nothing. It follows only relative imports, not packages, aliases or the schemes
// of bundlers.

var scriptExts = []string{".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json"}

var (
	// fromRe matches an import or re-export with a source: its names and the source.
	fromRe = lazyregexp.New(`(?m)(?:^|[;\s}])(import|export)\s+(type\s+)?([^;'"()]*?)\s*from\s*(['"])([^'"\n]+)['"]`)
	// importPathRe matches an import for its effects, a dynamic one, or a require.
	importPathRe = lazyregexp.New(`(?m)(?:(?:^|[;\s])import\s*|\b(?:import|require)\s*\(\s*)(['"])([^'"\n]+)['"]`)
	// stubRe matches a function whose whole body throws that it is not implemented.
	stubRe = lazyregexp.New(`\{\s*throw\s+new\s+\w*Error\s*\(\s*(['"])([^'"\n]*)['"]\s*\)\s*;?\s*\}`)
	nameRe = lazyregexp.New(`^[A-Za-z_$][\w$]*$`)

	exportListRe = lazyregexp.New(`\bexport\s+(?:type\s+)?\{([^}]*)\}`)
	exportDeclRe = lazyregexp.New(`\bexport\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|const\s+enum|const|let|var|interface|type|enum|namespace)\s+([A-Za-z_$][\w$]*)`)
	// unknownExportsRe matches an export whose names are not visible as text: another module's, CommonJS's,
	// or destructured ones.
	unknownExportsRe = lazyregexp.New(`\bexport\s*\*|\bmodule\.exports\b|\bexports\.|\bexport\s+(?:const|let|var)\s*[\[{]|\bexport\s*=|\bexport\s+as\b`)
	declListRe       = lazyregexp.New(`,\s*[A-Za-z_$][\w$]*\s*=[^=>]`)
)

func (p *project) scanScript(name, text string, isNew bool) []Gap {
	code := blankComments(text)
	var out []Gap
	for _, m := range stubRe().FindAllStringSubmatchIndex(code, -1) {
		if says := code[m[4]:m[5]]; saysUnfinished(says) {
			out = append(out, Gap{Type: Stub, File: name, Line: lineOf(code, m[0]),
				Description: "a function is not implemented: " + says,
				Evidence:    strings.Join(strings.Fields(code[m[0]:m[1]]), " ")})
		}
	}
	for _, m := range fromRe().FindAllStringSubmatchIndex(code, -1) {
		at, from := lineOf(code, m[10]), code[m[10]:m[11]]
		target, gap := p.resolveImport(name, from, at)
		if gap != nil {
			out = append(out, *gap)
		}
		if target == "" {
			continue
		}
		names, known := p.exportedNames(target)
		for _, want := range importedNames(code[m[6]:m[7]]) {
			if known && !names[want] {
				out = append(out, Gap{Type: MissingExport, File: name, Line: at,
					Description: fmt.Sprintf("%s exports no %s", target, want),
					Evidence:    strings.Join(strings.Fields(code[m[2]:m[1]]), " ")})
			}
		}
	}
	for _, m := range importPathRe().FindAllStringSubmatchIndex(code, -1) {
		if _, gap := p.resolveImport(name, code[m[4]:m[5]], lineOf(code, m[4])); gap != nil {
			out = append(out, *gap)
		}
	}
	if isNew && strings.Contains(code, "export") {
		out = append(out, p.checkScriptOrphan(name)...)
	}
	return out
}

// resolveImport resolves a relative import. target is "" if it is not a script, not relative, or
// missing.
func (p *project) resolveImport(name, from string, line int) (target string, gap *Gap) {
	if !strings.HasPrefix(from, "./") && !strings.HasPrefix(from, "../") && from != "." && from != ".." {
		return "", nil
	}
	if strings.ContainsAny(from, "?#!*${") { // a loader's own syntax
		return "", nil
	}
	base, ok := joinInProject(name, from)
	if !ok {
		return "", nil // outside the project
	}
	if found := p.resolveFile(base); found != "" {
		if ext := path.Ext(found); ext == ".json" || !slices.Contains(scriptExts, ext) {
			return "", nil
		}
		return found, nil
	}
	if p.isGenerated(base) {
		return "", nil
	}
	return "", &Gap{Type: WrongImport, File: name, Line: line,
		Description: fmt.Sprintf("the import %q leads to no file", from)}
}

// resolveFile returns the file that an import names, with omitted extensions added.
func (p *project) resolveFile(base string) string {
	if p.fileKind(base) == "file" {
		return base
	}
	for _, ext := range scriptExts {
		if p.fileKind(base+ext) == "file" {
			return base + ext
		}
	}
	// TypeScript names the file that the compiler makes of it.
	for js, list := range map[string][]string{".js": {".ts", ".tsx", ".d.ts"}, ".jsx": {".tsx"},
		".mjs": {".mts", ".d.mts"}, ".cjs": {".cts", ".d.cts"}} {
		if stem, ok := strings.CutSuffix(base, js); ok {
			for _, ts := range list {
				if p.fileKind(stem+ts) == "file" {
					return stem + ts
				}
			}
		}
	}
	if p.fileKind(base) == "dir" {
		if p.fileKind(path.Join(base, "package.json")) == "file" {
			return path.Join(base, "package.json")
		}
		for _, ext := range scriptExts {
			if p.fileKind(path.Join(base, "index"+ext)) == "file" {
				return path.Join(base, "index"+ext)
			}
		}
	}
	return ""
}

// isGenerated reports whether a path is in a folder that a build makes.
func (p *project) isGenerated(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if skippedDirs[part] || strings.HasPrefix(part, ".") || strings.Contains(part, "generated") {
			return true
		}
	}
	return false
}

// importedNames returns the names in the braces of an import, as in the source.
func importedNames(clause string) []string {
	_, list, ok := strings.Cut(clause, "{")
	list, _, closed := strings.Cut(list, "}")
	if !ok || !closed {
		return nil
	}
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		f := strings.Fields(item)
		if len(f) > 1 && f[0] == "type" && f[1] != "as" {
			f = f[1:]
		}
		if len(f) > 0 && nameRe().MatchString(f[0]) && f[0] != "default" {
			out = append(out, f[0])
		}
	}
	return out
}

// exportedNames returns the names that a script exports; known is false if they are not visible as
// text.
func (p *project) exportedNames(name string) (names map[string]bool, known bool) {
	text, ok := p.read(name)
	if !ok {
		return nil, false
	}
	code := blankComments(text)
	if unknownExportsRe().MatchString(code) || !strings.Contains(code, "export") {
		return nil, false
	}
	names = map[string]bool{}
	for _, m := range exportDeclRe().FindAllStringSubmatchIndex(code, -1) {
		names[code[m[2]:m[3]]] = true
		// In "export const a = 1, b = 2" the other names cannot be distinguished from the values.
		rest, _, _ := strings.Cut(code[m[3]:], "\n")
		if declListRe().MatchString(rest) || strings.HasSuffix(strings.TrimSpace(rest), ",") {
			return nil, false
		}
	}
	for _, m := range exportListRe().FindAllStringSubmatch(code, -1) {
		for item := range strings.SplitSeq(m[1], ",") {
			if f := strings.Fields(item); len(f) > 0 {
				names[f[len(f)-1]] = true // "a as b" exports b
			}
		}
	}
	return names, true
}

// entryPointRe matches files that have other users than imports: tests, settings, entry points, and the
// folders whose files a framework finds by itself.
var entryPointRe = lazyregexp.New(`(?:^|/)\.[^/]*$|rc\.\w+$|(?:^|/)(?:index|main|app|server|cli|middleware|instrumentation|setup[\w-]*)\.\w+$|\.(?:test|spec|stories|config|setup|d)\.\w+$|(?:^|/)(?:tests?|__tests__|__mocks__|e2e|bin|scripts|pages|app|routes|api|public|migrations|stories|workers?|functions|commands|plugins)/`)

// checkScriptOrphan reports a new module that no file of the project names.
func (p *project) checkScriptOrphan(name string) []Gap {
	if entryPointRe().MatchString(name) {
		return nil
	}
	all, whole := p.files()
	if !whole {
		return nil
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	for _, other := range all {
		if other == name {
			continue
		}
		switch path.Ext(other) {
		case ".md", ".markdown", ".txt", ".lock", ".map", ".svg":
			continue // documentation is not a use
		}
		if text, ok := p.read(other); ok && mentionsStem(text, stem) {
			return nil
		}
	}
	return []Gap{{Type: Orphan, File: name, Description: "no file of the project imports or names it"}}
}

// mentionsStem reports whether a text has a file's name as the end of a path: after a slash or a
// quote, and before an extension or a quote.
func mentionsStem(text, stem string) bool {
	for rest := text; ; {
		i := strings.Index(rest, stem)
		if i < 0 {
			return false
		}
		end := i + len(stem)
		if i > 0 && strings.ContainsRune("/'\"`", rune(rest[i-1])) && end < len(rest) &&
			strings.ContainsRune(".'\"`", rune(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

// blankComments replaces comments and template literals (which may contain code of their own) with
// blanks, and keeps every other byte at its index.
func blankComments(text string) string {
	b := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\'' || b[i] == '"' || b[i] == '`':
			from, q := i, b[i]
			for i++; i < len(b) && b[i] != q && (b[i] != '\n' || q == '`'); i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if q == '`' {
				blank(from+1, min(i, len(b)))
			}
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '/':
			end := i
			for end < len(b) && b[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '*':
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				end = len(b)
			} else {
				end += i + 4
			}
			blank(i, end)
			i = end - 1
		}
	}
	return string(b)
}
