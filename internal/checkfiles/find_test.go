package checkfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\nreplace example.com/r => ./r\n", "go.sum": "",
		"words/words.go": "package words",
		"words/words_test.go": "package words\nimport (\n\"testing\"\n\"example.com/m/assert\"\n" +
			"\"example.com/r\"\n\"example.com/v\"\n\"example.com/m/other\")",
		"words/testdata/a.golden": "", "words/deep/deep_test.go": "package deep",
		"assert/assert.go": "package assert\nimport \"testing\"", "assert/more.go": "package assert",
		"other/other.go": "package other",
		"r/r.go":         "package r\nimport \"testing\"", "vendor/example.com/v/v.go": "package v\nimport \"testing\"",
		"vendor/modules.txt": "",
		"js/package.json":    `{"scripts": {"test": "sh all.sh", "lint": "eslint ."}}`, "js/all.sh": "node words.test.js\n",
		"js/words.test.js": "", "js/words.js": "", "js/node_modules/x/x.test.js": "",
		"py/test_words.py": "", "py/words.py": "", "py/sub/conftest.py": "", "py/data/expected.txt": "",
		"mk/Makefile":         "include more.mk local.mk\n.PHONY: test\ntest: ; sh words.sh\n\t$(RUN) checks/x_test.sh\n",
		"mk/more.mk":          "",
		"mk/checks/x_test.sh": "", "mk/words.sh": "",
		"sh/run.sh":    "for t in \"$1\"/*; do sh $t; done\nsh ../words.sh\nsh a_test.sh\n",
		"sh/a_test.sh": "", "sh/tests/one": "", "sh/tests/fix.json": "",
		"jvm/gradlew": "exec java\n", "jvm/src/test/java/WordsTest.java": "", "jvm/src/main/java/Words.java": "",
		"py/.venv/bin/pytest": "", "py/.venv/bin/python": "", "js/node_modules/.bin/vitest": "",
		"words.sh": "", "check.sh": "", "conf.txt": "", "expected.txt": "", "ci/tests.sh": "sh ../words.sh\n",
	})
	for _, c := range []struct{ dir, command, want string }{
		{".", "go test ./words", "assert/assert.go:data assert/more.go:data go.mod:setup go.sum:setup go.work:setup " +
			"go.work.sum:setup r/r.go:data vendor/example.com/v/v.go:data vendor/modules.txt:setup " +
			"words/testdata/a.golden:data words/words_test.go:test"},
		{"words", "CI=1 go test -run Two -count 1 ./...", "assert/assert.go:data assert/more.go:data go.mod:setup " +
			"go.sum:setup go.work:setup go.work.sum:setup r/r.go:data vendor/example.com/v/v.go:data vendor/modules.txt:setup " +
			"words/deep/deep_test.go:test words/go.mod:setup words/go.sum:setup words/go.work:setup words/go.work.sum:setup " +
			"words/testdata/a.golden:data words/words_test.go:test"},
		{"js", "npm test", "js/all.sh:no js/package.json:setup js/words.test.js:test .npmrc:setup js/.npmrc:setup"},
		{".", "cd py && pytest -q", "conftest.py:setup py/conftest.py:setup py/data/expected.txt:data " +
			"py/sub/conftest.py:setup py/test_words.py:test pytest.ini:setup py/words.py:no"},
		{".", "python3 -m pytest py/test_words.py::test_two",
			"py/conftest.py:setup py/test_words.py:test py/sub/conftest.py:no"},
		{"py", ".venv/bin/pytest -q", "py/test_words.py:test py/sub/conftest.py:setup py/.venv/bin/pytest:no"},
		{"py", "./.venv/bin/python -m pytest", "py/test_words.py:test py/sub/conftest.py:setup py/.venv/bin/python:no"},
		{"js", "node_modules/.bin/vitest run", "js/words.test.js:test js/node_modules/.bin/vitest:no"},
		{"jvm", "./gradlew test", "jvm/gradlew:script jvm/src/test/java/WordsTest.java:test " +
			"jvm/src/main/java/Words.java:no"},
		{"jvm/src", "../gradlew test", "jvm/gradlew:script jvm/src/test/java/WordsTest.java:test words.sh:no"},
		{".", "make -C mk test", "mk/GNUmakefile:setup mk/Makefile:setup mk/makefile:setup mk/more.mk:setup " +
			"mk/local.mk:setup mk/checks/x_test.sh:test mk/test:no mk/words.sh:no"},
		{"mk", "make tested", "mk/tested:setup mk/words.sh:no"},
		{"sh", "sh run.sh tests", "words.sh:no sh/a_test.sh:test sh/run.sh:script sh/tests/fix.json:data sh/tests/one:test"},
		{".", "cd ci && sh tests.sh", "ci/tests.sh:script words.sh:no"},
		{".", "./check.sh conf.txt", "check.sh:script conf.txt:operand expected.txt:data"},
		{".", "sh words.sh | diff expected.txt -", "expected.txt:data words.sh:script"},
		{".", "! grep -rn Count words", ""},
		{".", "test -s words.sh && grep -q x conf.txt", ""},
		{".", "", ""},
		{".", "bash -c 'sh check.sh'", "check.sh:script expected.txt:data"},
		{".", "bash -lc 'sh check.sh'", "check.sh:script expected.txt:data"},
		{".", "bash -euo pipefail -c 'sh check.sh'", "check.sh:script expected.txt:data"},
		{".", "timeout -k 5 10m sh check.sh", "check.sh:script expected.txt:data"},
		{".", "nice -n 19 timeout --signal=KILL 60 bash -ec 'sh check.sh'", "check.sh:script expected.txt:data"},
		{".", "timeout 5 test -s words.sh", ""},
		{".", "timeout 60", ""},
		{"py", "bash -lc 'pytest -q'", "py/test_words.py:test py/sub/conftest.py:setup py/words.py:no"},
		{"words", "timeout 60 go test .", "go.mod:setup words/words_test.go:test words/testdata/a.golden:data" +
			" words/words.go:no words/deep/deep_test.go:no"},
		{".", "sh ../outside.sh /etc/passwd", ""},
	} {
		f := Finder{Root: dir}
		found := f.Find(c.dir, c.command)
		var got []string
		for file, kind := range found {
			got = append(got, fmt.Sprintf("%s:%s", file, kind))
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !strings.Contains(c.want, ":no") && !slices.Equal(got, want) {
			t.Errorf("%s: %s\nwant %s", c.command, got, want)
		}
		for _, w := range want {
			if file, no := strings.CutSuffix(w, ":no"); no && found[file] != "" || !no && !slices.Contains(got, w) {
				t.Errorf("%s: %s, want %s", c.command, got, w)
			}
		}
	}
}

// The search of a large project is bounded.
func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many := map[string]string{"a.sh": "sh a.sh\nsh b.sh\n", "b.sh": "sh a.sh\nsh b.sh\n",
		"Makefile": "include Makefile\n\tmake\n"}
	for n := range 100 {
		many[fmt.Sprintf("tests/%d_test.sh", n)] = "sh a.sh; make; sh tests/*.sh\n"
	}
	write(t, dir, many)
	f := Finder{Root: dir}
	if got := len(f.Find(".", "sh a.sh tests; make; sh tests/1_test.sh")); got < 100 || got > 300 {
		t.Errorf("%d files", got)
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "a", "b": "a"})
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	state := func(name string) State { return StateOf(filepath.Join(dir, name)) }
	if a := state("a"); a != state("b") || a.Digest() == "" || a.IsDir() || a.Link() != "" || a.Mode() != 0o644 {
		t.Errorf("%q", a)
	}
	if state("gone") != "" || state("link").Link() != "a" || !state(".").IsDir() {
		t.Errorf("%q %q %q", state("gone"), state("link"), state("."))
	}
}
