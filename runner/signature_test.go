package runner

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"wavex/internal/check"
)

// besideSource is the reason of a misjudged pair whose outputs quote source.
const besideSource = "numbers beside quoted source have the form of a table"

// misjudged are the pairs of testdata/sameness that the signature takes for different errors, with the reason.
var misjudged = map[string]string{
	"43-vitest-times":       besideSource,
	"48-tsc-pretty-gutter":  besideSource,
	"58-cargo-build-gutter": besideSource,
	"61-gradle-times":       "one line of one tool, which the first build after a while has",
	"85-make-line-numbers":  besideSource,
}

// TestSameness compares the signature with the judged pairs of testdata/sameness.
func TestSameness(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/sameness/*.txtar")
	if err != nil || len(archives) != 84 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	wrong := map[string]string{}
	for _, path := range archives {
		p := readPair(t, path)
		if misjudged[p.name] != "" && !p.same {
			t.Errorf("%s would stop a task that makes progress", p.name)
		}
		a, b := p.signature("a"), p.signature("b")
		if (a == b) != p.same {
			wrong[p.name] = a + "\n" + b
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		if misjudged[name] == "" {
			t.Errorf("%s is misjudged:\n%s", name, wrong[name])
		}
	}
	for name := range misjudged {
		if wrong[name] == "" {
			t.Errorf("%s is judged as it should be; remove it from the list", name)
		}
	}
}

// Tokens that change by themselves are removed; values that look like them stay.
func TestNormalise(t *testing.T) {
	t.Parallel()
	n := normaliser{roots: []string{"/var/slots/3", "/src/app"}, temp: "/var/slots/3"}
	seen := map[string]string{}
	for _, c := range [][]string{ // the texts of a line have one signature, which no other line has
		{"open /src/app/a.go: denied", "open ¤/a.go: denied"},
		{"open /src/application/a.go: denied"},
		{"wrote /var/slots/3/out.txt", "wrote /tmp/out.txt"},
		{"wrote /tmp/out7.txt"}, {"wrote /tmp/out8.txt"},
		{"mkdir /tmp/go-build3047264117/b001/a", "mkdir /tmp/go-build811790305/b002/a"},
		{"cp /tmp/prefix-AbCd1f/x", "cp /tmp/prefix-Zz3y7q/x"},
		{"16% covered"}, {"17% covered"}, {"ok (3ms)", "ok", "ok (1m30s)"},
		{"took 3ms", "took 1m30s", "took 2 min 3 s", "took 4.5 seconds"}, {"took:3ms", "took:4ms"}, {"3s more", "4s more"},
		{"timeout = 3ms"}, {"timeout = 1m30s"}, {"got 3ms"}, {"got: 1m30s"},
		{"level=info elapsed=3.2s done", "level=info elapsed=411ms done"},
		{"3 files"}, {"4 files"}, {"3 more"}, {"4 more"},
		{"a.go:3: x", "a.go:4: x", "a.go:4:7: x"}, {"b.go:3: x"},
		{"sh: 1: cargo: not found", "sh: 2: cargo: not found"},
		{"error at lines 3-5", "error at line 7"},
		{"localhost:41873 is down", "localhost:38211 is down"},
		{"localhost:5432 is down"}, {"localhost:6379 is down"}, {"http://api.example.com:8080"},
		{"http://api.example.com:9090"},
		{"at 0xc000123456", "at 0xc000999999"}, {"flags 0x1f"}, {"flags 0x2f"}, {"got 0xc0ffee11"},
		{"report-20260211.csv"}, {"report-20260212.csv"},
		{"3 | open"}, {"4 | open"}, {"3 | open\n  | closed"}, {"4 | open\n  | closed"}, {"3 | -1"}, {"4 | -1"}, // tables
		{"ls /tmp/v3-abcdefg"}, {"ls /tmp/v3-abcdefh"}, {"ls /var/folders/a1/b2/T/w12/x", "ls /var/folders/c/d/T/w3/x"},
		{"v1.2.3"}, {"v1.2.4"}, {"2024-01-30"}, {"2024-01-31"},
		{"\x1b[31mred\x1b[0m", "red", "red\r"}, {"r\u00a0ed"},
		{"up\n\f\ndown", "up\n\ndown"}, // blank lines
	} {
		key := n.text(c[0])
		if other, taken := seen[key]; taken || key == "" {
			t.Errorf("%q is %q, as is %q", c[0], key, other)
		}
		seen[key] = c[0]
		for _, line := range c {
			if got := n.text(line); got != key {
				t.Errorf("%q is %q, and %q is %q", c[0], key, line, got)
			}
		}
	}
}

// The roots of a task are its directory, the root of the repository and the attempt's folder, by their paths with and
// without links.
func TestRootsOfATask(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	real, linked := filepath.Join(top, "real"), filepath.Join(top, "linked")
	must(t, os.MkdirAll(filepath.Join(real, "sub", "dir"), 0o755))
	for _, repository := range []string{top, real} { // one in another one, whose files are not the task's
		must(t, os.Mkdir(filepath.Join(repository, ".git"), 0o755))
	}
	must(t, os.Symlink(real, linked))
	n := newNormaliser("", filepath.Join(linked, "sub", "dir"), filepath.Join(top, "log"))
	for _, root := range []string{filepath.Join(linked, "sub", "dir"), filepath.Join(real, "sub", "dir"), linked, real,
		filepath.Join(top, "log")} {
		if got := n.cutRoots("open " + root + "/a.go: denied"); got != "open "+blank+"/a.go: denied" {
			t.Errorf("of %s remains %q", root, got)
		}
	}
	work := filepath.Join(real, "sub") // in the folder of its log files
	if got := newNormaliser("", work, real).cutRoots(work + "/a.go"); got != blank+"/a.go" {
		t.Errorf("of %s remains %q", work, got)
	}
	temp := filepath.Join(real, "temporary") // in the repository
	if got := newNormaliser(temp+"/", work, "").cutRoots(temp + "/a.go"); got != "/tmp/a.go" {
		t.Errorf("of %s remains %q", temp, got)
	}
	others := []string{top + "/a.go"}
	for _, c := range strings.Split("azAZ09_-.", "") {
		others = append(others, real+c+"/a.go")
	}
	for _, other := range others {
		if got := n.cutRoots(other); got != other {
			t.Errorf("%s is %q", other, got)
		}
	}
}

// The time to normalise grows with the length of the output only.
func TestNormaliseLongOutput(t *testing.T) {
	t.Parallel()
	n := normaliser{roots: []string{"/tmp/x", "/a"}, temp: "/tmp/x"}
	var deep strings.Builder
	for i := range 1400 {
		deep.WriteString(strings.Repeat(" ", i) + "x\n")
	}
	for _, output := range []string{strings.Repeat("/tmp/a", 1<<17), strings.Repeat("\r1", 1<<19), deep.String(),
		strings.Repeat("0x1", 1<<17), strings.Repeat("= 1s ", 1<<16)} {
		if n.text(output) == n.text(output+"\nend") {
			t.Errorf("the end of %.20q... does not count", output)
		}
	}
}

// pair is one archive of testdata/sameness.
type pair struct {
	name  string
	same  bool
	files map[string]string
}

func readPair(t *testing.T, path string) pair {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	must(t, err)
	comment := string(archive.Comment)
	judgement, _, _ := strings.Cut(comment, "\n")
	if judgement != "same" && judgement != "different" {
		t.Fatalf("%s: judgement %q", path, judgement)
	}
	p := pair{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), same: judgement == "same",
		files: map[string]string{}}
	for _, f := range archive.Files {
		p.files[f.Name] = string(f.Data)
	}
	return p
}

// line returns the content of a file with one line.
func (p pair) line(name string) string { return strings.TrimSuffix(p.files[name], "\n") }

// text returns the content of an output with its repeated lines.
func (p pair) text(name string) string {
	var b strings.Builder
	for line := range strings.Lines(p.files[name]) {
		rest, repeated := strings.CutPrefix(line, "@repeat ")
		count, pattern, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		if !repeated || err != nil {
			b.WriteString(line)
			continue
		}
		for i := range n {
			b.WriteString(strings.ReplaceAll(pattern, "@n", strconv.Itoa(i+1)))
		}
	}
	return b.String()
}

// signature returns the signature of the first or the second attempt: "a" or "b". The runner has
// digests of the changed files instead of their diff, so the object ids of the diff are left out.
func (p pair) signature(which string) string {
	command := p.line("command")
	if other := p.line("command-" + which); other != "" {
		command = other
	}
	reason := "exit code " + p.line("exit-"+which)
	n := newNormaliser("", p.line("root-"+which), "")
	return failure{reason: "check failed: " + command + ": " + reason,
		checks: []check.Evidence{{Check: command, Reason: reason, Whole: p.text(which)}},
		changes: func() string {
			return objectIDs.ReplaceAllString(n.cutRoots(p.files["diff-"+which]), "")
		}}.signature(n)
}

var objectIDs = regexp.MustCompile(`(?m)^index .*$`)

// The random end of a temporary name goes, and a word stays.
func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"build-A1aaaa": "build-", "build-release": "build-release",
		"x.aBcdef": "x.", "x-1abcdef": "x-", "x-Release": "x-Release", "a-ABCDEF": "a-ABCDEF", "x_123456": "x_",
		"tmpab12cd34": "tmp", "tmp.Ab1Cd2Ef3G": "tmp", "a123b": "a123b"} {
		if got := cutRandom(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"at /tmp/a1/b2": "at /tmp/a/b2", "at /private/var/tmp/a1": "at /tmp/a1",
		"at /tmp/a/b... (3 more)": "at /tmp/... (3 more)", "/var/folders/a1/b2/T/c3/d4": "/tmp/c/d4",
		"at src/tmp/a1/b": "at src/tmp/a1/b", "in /slot/a1/b": "in /tmp/a/b"} {
		n := normaliser{roots: []string{"/slot"}, temp: "/slot"}
		if got := n.cutTemp(n.cutRoots(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A root is removed from the front of paths. The name of a root that is one folder may be a part of another path.
func TestRootsInPaths(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"/src/app", "-I/src/app/include", "-I¤/include"}, {"/src/app/", "in /src/app", "in ¤"},
		{"/w", "/w/a.go", "¤/a.go"}, {"/w", "in /w and /w", "in ¤ and ¤"}, {"/w", "b/w/a.go", "b/w/a.go"},
		{"/w", "lib/w/a.go", "lib/w/a.go"}, {"/w", "/web/a.go", "/web/a.go"}, {"/", "/a.go", "/a.go"}} {
		if got := (normaliser{roots: []string{c[0]}}).cutRoots(c[1]); got != c[2] {
			t.Errorf("without %s, %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Two attempts in different directories that left the same text, but for the directory, have the same digest.
func TestFileDigestWithoutRoots(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		dir := t.TempDir()
		n := newNormaliser("", dir, "")
		at := filepath.Join(dir, "a")
		must(t, os.WriteFile(at, []byte("made in "+dir), 0o600))
		for _, path := range []string{"a", at} {
			seen[n.fileDigest(dir, path)] = true
		}
		for _, path := range []string{".", "gone"} { // no text
			if got, want := n.fileDigest(dir, path), FileDigest(dir, path); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	if len(seen) != 1 || seen[""] || seen[FileDigest("", "gone")] {
		t.Errorf("the digests are %v", seen)
	}
}
