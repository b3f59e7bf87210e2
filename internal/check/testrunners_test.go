package check_test

import (
	"testing"

	"wavex/internal/check"
)

// The outputs of test runners tell whether a test ran.
func TestRanNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output, suite, before string
		nothing               bool
	}{
		"go":           {"ok  \twavex/a\t0.012s\n", "go test", "", false},
		"go, cached":   {"ok  \twavex/a\t(cached)\n?   \twavex/b\t[no test files]\n", "go test", "", false},
		"go, red":      {"--- FAIL: TestA (0.00s)\nFAIL\nFAIL\twavex/a\t0.01s\n", "go test", "", false},
		"go, no files": {"?   \twavex/a\t[no test files]\n", "", "", true},
		"go, no test":  {"ok  \twavex/a\t0.002s [no tests to run]\n", "", "", true},
		"go, one folder": {"testing: warning: no tests to run\nPASS\n" +
			"ok  \twavex/a\t0.002s [no tests to run]\n", "", "", true},
		"go -v": {"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n" +
			"ok  \twavex/a\t0.01s\n", "go test -v", "", false},
		"go, green after red": {"ok  \twavex/a\t0.01s\n", "go test", "go test", false},
		"go -v, ended early":  {"ok  \twavex/a\t0.002s\n", "go test", "go test -v", true},
		"go, of one package":  {"PASS\nok  \twavex/a\t0.01s\n", "go test of one package", "go test of one package", false},
		"go, of one package, red": {"--- FAIL: TestA (0.00s)\nFAIL\nexit status 1\nFAIL\twavex/a\t0.01s\n",
			"go test of one package", "", false},
		"go, of one package, ended early":   {"ok  \twavex/a\t0.01s\n", "go test", "go test of one package", true},
		"go, of one package, after a panic": {"hiPASS\nok  \twavex/a\t0.01s\n", "go test of one package", "go test", false},
		"go, of one package, covered": {"PASS\ncoverage: 1.0% of statements\nok  \twavex/a\t0.01s\n",
			"go test of one package", "", false},
		"go, not built":       {"# wavex/a\na.go:1: undefined: x\nFAIL\twavex/a [build failed]\nFAIL\n", "", "", false},
		"pytest":              {"..\n2 passed in 0.01s\n", "pytest", "", false},
		"pytest, a banner":    {"===== 1 failed, 2 passed in 0.12s =====\n", "pytest", "", false},
		"pytest, none":        {"===== no tests ran in 0.01s =====\n", "", "", true},
		"pytest, ended early": {"", "", "pytest", true},
		"unittest":            {"Ran 3 tests in 0.001s\n\nOK\n", "unittest", "", false},
		"unittest, none":      {"Ran 0 tests in 0.000s\n\nOK\n", "", "", true},
		"cargo":               {"running 1 test\ntest result: ok. 1 passed; 0 failed\n", "cargo test", "", false},
		"cargo, none":         {"running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", "", "", true},
		"cargo, doc tests": {"test result: ok. 2 passed; 0 failed\n\nrunning 0 tests\n\n" +
			"test result: ok. 0 passed; 0 failed\n", "cargo test", "", false},
		"node":           {"ℹ tests 2\nℹ pass 2\n", "node --test", "", false},
		"node, none":     {"# tests 0\n# pass 0\n", "", "", true},
		"jest":           {"\x1b[1mTests:       \x1b[22m2 passed, 2 total\n", "jest", "", false},
		"jest, none":     {"No tests found, exiting with code 0\n", "", "", true},
		"vitest":         {" Test Files  1 passed (1)\n      Tests  2 passed (2)\n", "vitest", "", false},
		"vitest, red":    {"\n\x1b[31mNo test files found, exiting with code 1\x1b[39m\n", "", "", true},
		"vitest, none":   {"\nNo test files found, exiting with code 0\n", "", "", true},
		"a shell script": {"fine\n", "", "", false},
		"nothing":        {"", "", "", false},
	} {
		if got := check.Suite(c.output); got != c.suite {
			t.Errorf("%s: the suite is %q, want %q", name, got, c.suite)
		}
		if why := check.RanNothing(c.output, c.before); (why != "") != c.nothing {
			t.Errorf("%s: ran nothing: %q", name, why)
		}
	}
}
