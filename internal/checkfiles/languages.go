package checkfiles

import (
	"bytes"
	"go/build/constraint"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file has the patterns of each language.

// language says how the texts of a language declare and skip tests. A pattern may be nil.
type language struct {
	extensions    []string
	comment       string
	test          func() *regexp.Regexp // its first group is the name of the test
	subtest, skip func() *regexp.Regexp
	hollow        func() *regexp.Regexp // matches a text without tests, after its comments were removed
	excluded      func(file string, text []byte) bool
	shell         bool
}

func languageOf(file string) *language {
	ext := path.Ext(file)
	if base := path.Base(file); strings.HasSuffix(strings.ToLower(base), "makefile") {
		ext = ".mk"
	}
	for i := range languages {
		if slices.Contains(languages[i].extensions, ext) {
			return &languages[i]
		}
	}
	return nil
}

// strip removes the lines that are comments.
func (l *language) strip(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if t := bytes.TrimSpace(line); !bytes.HasPrefix(t, []byte(l.comment)) {
			out = append(out, line...)
		}
	}
	return out
}

func (l *language) empty(stripped []byte) bool {
	if l.hollow != nil {
		return l.hollow().Match(stripped)
	}
	return len(bytes.TrimSpace(stripped)) == 0
}

func (l *language) count(pattern func() *regexp.Regexp, stripped []byte) int {
	if pattern == nil {
		return 0
	}
	return len(pattern().FindAllIndex(stripped, -1))
}

// tests returns the names of the tests in a text.
func (l *language) tests(text []byte) (names []string) {
	if l == nil || l.test == nil {
		return nil
	}
	for _, m := range l.test().FindAllSubmatch(l.strip(text), -1) {
		names = append(names, string(m[len(m)-1]))
	}
	return names
}

var languages = []language{
	{extensions: []string{".go"}, comment: "//", excluded: goExcluded,
		test:    lazyregexp.New(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`),
		subtest: lazyregexp.New(`\.Run\(`),
		skip:    lazyregexp.New(`\.Skip(?:f|Now)?\(`),
		hollow:  lazyregexp.New(`^\s*(?:package \w+\s*)?(?:import (?:\([^)]*\)|.*)\s*)*$`)},
	{extensions: []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"}, comment: "//",
		test: lazyregexp.New("(?:^|[^.\\w])(?:it|test|Deno\\.test)(?:\\.\\w+)*\\s*\\(\\s*([\"'`][^\"'`\n]*)"),
		skip: lazyregexp.New(`\.(?:skip|only|todo|fixme)\b|(?:^|[^.\w])(?:x|f)(?:it|test|describe)\s*\(|\bskip: *true|` +
			`process\.exit\(0?\)`)},
	{extensions: []string{".py"}, comment: "#",
		test:    lazyregexp.New(`(?m)^\s*(?:async )?def (test\w*)`),
		subtest: lazyregexp.New(`parametrize\(|subTest\(`),
		skip: lazyregexp.New(`mark\.(?:skip|xfail)|` +
			`unittest\.(?:skip|expectedFailure)|pytest\.(?:skip|xfail|importorskip)\(|` +
			`pytest\.exit\(|skipTest\(|@skip|__test__ *= *False|collect_ignore|sys\.exit\(0?\)|os\._exit\(0\)`)},
	{extensions: []string{".rb"}, comment: "#",
		test: lazyregexp.New(`(?m)^\s*(?:def (test_\w+)|(?:it|test|specify) ["'](.*?)["'])`),
		skip: lazyregexp.New(`(?m)^\s*(?:skip|pending|xit|xdescribe|xcontext)\b|skip: true`)},
	{extensions: []string{".rs"}, comment: "//",
		test: lazyregexp.New(`#\[(?:\w+::)*test\b[^\]]*\][\s\S]*?fn (\w+)`),
		skip: lazyregexp.New(`#\[(?:ignore|cfg\(any\(\)\))`)},
	{extensions: []string{".java", ".kt", ".cs", ".scala", ".groovy"}, comment: "//",
		test: lazyregexp.New(`(?:@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Theory|Test|TestMethod)\b)` +
			`[\s\S]*?(\w+)\s*\(\s*[^"]`),
		skip: lazyregexp.New(`@(?:Disabled|Ignore)\b|\bSkip *=|\[Ignore\b|assumeTrue\(false`)},
	{extensions: []string{".php"}, comment: "//",
		test: lazyregexp.New(`function (test\w+)`),
		skip: lazyregexp.New(`markTestSkipped|markTestIncomplete`)},
	{extensions: []string{".ex", ".exs"}, comment: "#",
		test: lazyregexp.New(`(?m)^\s*test "(.*?)"`),
		skip: lazyregexp.New(`@(?:module)?tag :?skip`)},
	{extensions: []string{".swift"}, comment: "//",
		test: lazyregexp.New(`func (test\w+)`), skip: lazyregexp.New(`XCTSkip`)},
	{extensions: []string{".bats"}, comment: "#", shell: true,
		test: lazyregexp.New(`(?m)^@test (.*?) *\{`),
		skip: lazyregexp.New(`(?m)^\s*skip\b`)},
	{extensions: []string{".sh", ".bash", ".zsh", ""}, comment: "#", shell: true,
		hollow: lazyregexp.New(`^(?:\s|;|set [-+]\w+|true|:|exit(?: 0)?|return(?: 0)?)*$`)},
	{extensions: []string{".mk"}, comment: "#", shell: true},
}

// goExcluded reports whether a Go file is left out on this system without further tags.
func goExcluded(file string, text []byte) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".go"), "_test")
	parts := strings.Split(name, "_")
	for _, p := range parts[max(1, len(parts)-2):] {
		if strings.Contains(goSystems, " "+p+" ") && p != runtime.GOOS && p != runtime.GOARCH {
			return true
		}
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		x, err := constraint.Parse(line)
		return err == nil && !x.Eval(goTag)
	}
	return false
}

func goTag(tag string) bool {
	return tag == runtime.GOOS || tag == runtime.GOARCH || tag == "gc" || tag == "cgo" || strings.HasPrefix(tag, "go1.") ||
		tag == "unix" && !slices.Contains([]string{"windows", "plan9", "js", "wasip1"}, runtime.GOOS)
}

const goSystems = " aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 " +
	"windows 386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm "
