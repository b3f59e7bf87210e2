package check

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"wavex/internal/textfmt"
)

// This file reads the outputs of test runners. A command that ends well proves nothing if no test ran.

// suite is a test runner.
type suite struct {
	name string
	end  string // matches its output when its tests have run
	none string // matches its output if it found no test, or "" if its exit code tells
}

// These are the test runners whose outputs are read.
var suites = []suite{
	{"go test -v", `(?m)^(?:=== RUN  |\{.*"Action":"run")`, ``},
	// For the package in its folder, go test passes on all output, which ends in PASS.
	{"go test of one package",
		`(?m)(?:PASS\n(?:coverage: .*\n)?ok  \t\S+\t[\d.]+s|^FAIL\nexit status \d+\nFAIL\t.*)$`, ``},
	{"go test", `(?m)^(?:ok  \t\S+\t(?:\(cached\)|[\d.]+s)(?:\tcoverage: .*)?|FAIL\t\S+\t[\d.]+s)$`,
		`(?m)^(?:\?   \t\S+\t\[no test files\]|ok  \t.*\[no tests to run\]|testing: warning: no tests to run)$`},
	{"pytest", `(?m)^=* ?\d+ (?:passed|failed|skipped|xfailed|xpassed|errors?)\b.* in [\d.]+s`,
		`(?m)^(?:=* ?no tests ran\b|collected 0 items)`},
	{"unittest", `(?m)^Ran [1-9]\d* tests? in `, `(?m)^(?:Ran 0 tests in |NO TESTS RAN)`},
	{"cargo test", `(?m)^test result: \w+\. (?:[1-9]\d* passed|0 passed; [1-9])`,
		`(?m)^(?:running 0 tests$|test result: ok\. 0 passed; 0 failed)`},
	{"node --test", `(?m)^(?:#|ℹ) tests [1-9]`, `(?m)^(?:#|ℹ) tests 0$`},
	{"jest", `(?m)^Tests: +.*\b\d+ (?:passed|failed)\b.*\b[1-9]\d* total`, `(?m)^No tests found`},
	{"vitest", `(?m)^ *Tests  .*\b\d+ (?:passed|failed)\b.*\([1-9]\d*\)`, `(?m)^ *No test files found`},
	{"mocha", `(?m)^ *[1-9]\d* (?:passing|failing)\b`, `(?m)^ *0 passing\b`},
	{"rspec", `(?m)^[1-9]\d* examples?, `, `(?m)^0 examples, `},
	{"phpunit", `(?m)^(?:OK \([1-9]|Tests: [1-9])`, `(?m)^No tests executed`},
	{"dotnet test", `(?m)^(?:Passed|Failed)!  - `, `(?m)^No test is available`},
	{"maven", `(?m)^(?:\[\w+\] )?Tests run: [1-9]`, `(?m)^(?:\[\w+\] )?(?:Tests run: 0\b|No tests to run)`},
	{"bats", `(?m)^[1-9]\d* tests?, \d+ failures?`, `(?m)^0 tests, 0 failures`},
}

// patterns are the compiled expressions of the suites: the fields end and none of each.
var patterns = sync.OnceValue(func() (out [][2]*regexp.Regexp) {
	for _, s := range suites {
		out = append(out, [2]*regexp.Regexp{regexp.MustCompile(s.end), regexp.MustCompile(s.none)})
	}
	return out
})

// Suite returns the test runner whose tests ran, as the output tells; "" if it tells none.
func Suite(output string) string {
	output = colours().ReplaceAllString(output, "")
	for i, p := range patterns() {
		if p[0].MatchString(output) {
			return suites[i].name
		}
	}
	return ""
}

// RanNothing says why the output of a check that passed shows no test that ran; "" if it may. before is the Suite of
// the same check before the work, or "".
func RanNothing(output, before string) string {
	output = colours().ReplaceAllString(output, "")
	now := Suite(output)
	for _, p := range patterns() {
		if line := p[1].FindString(output); line != "" && now == "" {
			return textfmt.OneLine(strings.TrimSpace(line), maxReason)
		}
	}
	was := slices.IndexFunc(suites, func(s suite) bool { return s.name == before })
	if was >= 0 && !patterns()[was][0].MatchString(output) {
		return "the output lacks the end of " + before + ", which was there before the work"
	}
	return ""
}

// colours match those of a terminal.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })
