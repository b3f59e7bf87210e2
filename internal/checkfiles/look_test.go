package checkfiles

import (
	"strings"
	"testing"
)

const goTest = `package words

import "testing"

func TestNone(t *testing.T) {
	if Count("") != 0 {
		t.Error("none")
	}
}

func TestTwo(t *testing.T) {
	t.Run("spaces", func(t *testing.T) {})
}
`

const jsTest = `const {it} = require("node:test")
it("counts nothing", () => equal(count(""), 0))
it("counts two", () => equal(count("a b"), 2))
`

const pyTest = `import pytest

def test_empty():
    assert count("") == 0

class TestWords:
    def test_two(self):
        assert count("a b") == 2
`

func TestLook(t *testing.T) {
	t.Parallel()
	sub := func(text, old, now string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(text, old, now, 1)
	}
	for _, c := range []struct{ file, old, now, want string }{
		{"a_test.go", goTest, goTest + "\n// A comment.\n", ""},
		{"a_test.go", goTest, strings.ReplaceAll(goTest, "Count", "Number"), ""},
		{"a_test.go", goTest, goTest + "\nfunc TestWindows(t *testing.T) { t.Skip() }\n", ""},
		{"a_test.go", goTest, sub(goTest, "TestNone", "TestNothing"), ""},
		{"a_test.go", goTest, "package words\n", "emptied"},
		{"a_test.go", goTest, "package words\n\nimport (\n\t\"testing\"\n)\n\nimport _ \"os\"\n", "emptied"},
		{"a_test.go", goTest, "", "emptied"},
		{"a_test.go", goTest, "//go:build integration\n\n" + goTest, "excluded by a build constraint"},
		{"a_test.go", goTest, "//go:build !integration\n\n" + goTest, ""},
		{"a_test.go", "//go:build slow\n\n" + goTest, "//go:build slow && fast\n\n" + goTest, ""},
		{"a_test.go", goTest, sub(goTest, "func TestTwo(t *testing.T) {", "func TestTwo(t *testing.T) {\n\tt.Skip(1)"),
			"made to skip tests"},
		{"a_test.go", goTest, sub(goTest, "func TestTwo", "func testTwo"), "stripped of tests"},
		{"a_test.go", goTest, sub(goTest, "func TestTwo", "//func TestTwo"), "stripped of tests"},
		{"a_test.go", goTest, "package words\n\nfunc TestAll(t *testing.T) {\n\tt.Run(\"a\", x)\n\tt.Run(\"b\", x)\n}\n", ""},
		{"a.test.js", jsTest, "// words\n" + jsTest, ""},
		{"a.test.js", jsTest, sub(jsTest, `it("counts two`, `it.skip("counts two`), "made to skip tests"},
		{"a.test.ts", jsTest, sub(jsTest, `it("counts two`, `xit("counts two`), "made to skip tests"},
		{"a.test.ts", jsTest, sub(jsTest, `it("counts nothing`, `it.only("counts nothing`), "made to skip tests"},
		{"a.test.js", jsTest, sub(jsTest, `it("counts two`, `// it("counts two`), "stripped of tests"},
		{"a.test.js", jsTest, jsTest + `it.todo("counts three")`, ""},
		{"a.test.js", jsTest, "\n", "emptied"},
		{"test_a.py", pyTest, pyTest + "    # more\n", ""},
		{"test_a.py", pyTest, sub(pyTest, "    def test_two", "    @pytest.mark.skip\n    def test_two"),
			"made to skip tests"},
		{"test_a.py", pyTest, sub(pyTest, "import pytest", "import pytest\npytestmark = pytest.mark.skipif(True)"),
			"made to skip tests"},
		{"test_a.py", pyTest, sub(pyTest, "def test_two", "def two"), "stripped of tests"},
		{"test_a.py", pyTest, "# nothing\n", "emptied"},
		{"a_spec.rb", "it 'is' do\nend\n", "xit 'is' do\nend\n", "made to skip tests"},
		{"tests/a.rs", "#[test]\nfn is() {}\n", "#[test]\n#[ignore]\nfn is() {}\n", "made to skip tests"},
		{"tests/a.rs", "#[test]\nfn is() {}\n", "fn is() {}\n", "stripped of tests"},
		{"ATest.java", "@Test\nvoid is() {}\n", "@Disabled @Test\nvoid is() {}\n", "made to skip tests"},
		{"ATest.php", "function testIs() {}\n", "function testIs() { $this->markTestSkipped(); }\n", "made to skip tests"},
		{"a_test.sh", "test 1 = 2\n", ":\n", "emptied"},
		{"a_test.sh", "#!/bin/sh\nset -e\ntest 1 = 2\n", "#!/bin/sh\nset -e\nexit 0\n", "emptied"},
		{"a_test.sh", "test 1 = 2\n", "test 1 = 2 || true\n", "made to ignore failures"},
		{"a_test.sh", "test 1 = 2\n", "exit 0\ntest 1 = 2\n", "made to ignore failures"},
		{"a_test.sh", "test 1 = 2\n", "rm -f x || true\ntest 1 = 2\n", ""},
		{"Makefile", "test:\n\tgo test ./...\n", "test:\n\t-go test ./...\n", "made to ignore failures"},
		{"Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test ./...\nlint:\n\tgo vet ./...\n", ""},
		{"a.bats", "@test \"is\" {\n}\n", "@test \"is\" {\n\tskip\n}\n", "made to skip tests"},
		{"testdata/a.json", "[1]", "", ""},
	} {
		old, now := Version{"file 1", []byte(c.old)}, Version{"file 2", []byte(c.now)}
		kind := kindOf(c.file)
		if got := Look(c.file, kind, old, now, nil); got != c.want {
			t.Errorf("%s as %s: %q, want %q, of\n%s", c.file, kind, got, c.want, c.now)
		}
	}
}

func TestLookAtStates(t *testing.T) {
	t.Parallel()
	text := []byte(goTest)
	for _, c := range []struct {
		file     string
		kind     Kind
		old, now State
		want     string
	}{
		{"a_test.go", Test, "file 1", "", "deleted"},
		{"a_test.go", Test, "file 1", "link /dev/null", "replaced by a symbolic link"},
		{"a_test.go", Test, "file 1", "special", "replaced by something that is no regular file"},
		{"tests/two", Test, "exec 1", "file 1", "made not executable"},
		{"tests/two", Test, "file 1", "exec 1", ""},
		{"a.golden", Data, "file 1", "", ""},
		{"conftest.py", Setup, "file 1", "", ""},
		{"conftest.py", Setup, "", "file 1", ""},
		{"check.sh", Script, "file 1", "", "deleted"},
	} {
		if got := Look(c.file, c.kind, Version{c.old, text}, Version{c.now, text}, nil); got != c.want {
			t.Errorf("%s from %q to %q: %q, want %q", c.file, c.old, c.now, got, c.want)
		}
	}
}

// Tests that are in another file now are not lost.
func TestMoved(t *testing.T) {
	t.Parallel()
	gone := func(others map[string]Version) string {
		return Look("a_test.go", Test, Version{"file 1", []byte(goTest)}, Version{}, others)
	}
	if got := gone(map[string]Version{"b_test.go": {"file 2", []byte(goTest + "\n// More.\n")}}); got != "" {
		t.Error(got)
	}
	for _, other := range []string{"a_plan9_test.go", "a_test.py", "b.txt"} {
		if got := gone(map[string]Version{other: {"file 2", []byte(goTest)}}); got != "deleted" {
			t.Errorf("moved to %s: %q", other, got)
		}
	}
	same := map[string]Version{"b_test.sh": {State: "file 1"}, "c_plan9_test.go": {State: "file 3"}}
	if !Moved("a_test.sh", "file 1", same) || Moved("a_test.sh", "file 2", same) || Moved("a_test.go", "file 3", same) {
		t.Error("an equal file under another name")
	}
	if !Controls("main_test.go", []byte("func TestMain(m *testing.M) {}")) || Controls("a_test.go", []byte(goTest)) {
		t.Error("a file that decides which tests run")
	}
}

// A text that only grows by comments loses no test, in any language, and a look never panics.
func FuzzLook(f *testing.F) {
	for _, s := range []string{goTest, jsTest, pyTest, "test 1 = 2 || true", "exit 0", "//go:build (", "\x00\xff", ""} {
		f.Add(s, s+"\n")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, old, now string) {
		for _, l := range languages {
			file := "tests/a" + l.extensions[0]
			v := Version{"file 1", []byte(old)}
			_ = Look(file, Test, v, Version{"file 2", []byte(now)}, nil)
			if got := Look(file, Test, v, Version{"file 2", []byte(old + "\n" + l.comment + " more\n")}, nil); got != "" {
				t.Errorf("a comment in %s: %q", file, got)
			}
		}
	})
}
