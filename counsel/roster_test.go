package counsel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBuiltInExperts(t *testing.T) {
	t.Parallel()
	experts := builtIn(t).Experts()
	same(t, "names", names(experts), []string{"api-designer", "build-engineer", "data-engineer", "debugger",
		"delivery-manager",
		"domain-modeller", "operator", "performance-engineer", "security-engineer", "simplifier", "tester", "ux-designer"})
	seen := map[string]string{}
	for _, e := range experts {
		data, err := profiles.ReadFile(e.Source)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 900 {
			t.Errorf("%s has %d bytes, at most 900", e.Source, len(data))
		}
		same(t, "file of "+e.Name, e.Source, "profiles/"+e.Name+".md")
		if len(e.Aspects) == 0 || len(e.Files) == 0 {
			t.Errorf("%s does not say when to ask it", e.Name)
		}
		// Distinct views: no two experts are chosen for the same reasons.
		key := strings.Join(e.Aspects, ",") + ";" + strings.Join(e.Failures, ",")
		if other, dup := seen[key]; dup {
			t.Errorf("%s and %s are asked for the same", e.Name, other)
		}
		seen[key] = e.Name
		for _, word := range []string{"You ask", "You distrust", "You usually recommend"} {
			if !strings.Contains(e.Body, word) {
				t.Errorf("%s lacks %q", e.Name, word)
			}
		}
	}
	// Every kind of failure has an expert, except the plainest outcome.
	for _, k := range FailureKinds() {
		if k != "wrong" && !slices.ContainsFunc(experts, func(e Expert) bool { return slices.Contains(e.Failures, k) }) {
			t.Errorf("nobody is for %s", k)
		}
	}
}

func profileDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOwnExperts(t *testing.T) {
	t.Parallel()
	dir := profileDir(t, map[string]string{
		"ours.md": "---\nname: tester # ours\naspects: [Payments, real time]\nfiles:\n---\n" +
			"Our own tester.\n---\nIt ends here.\n",
		"embedded.md": "\uFEFF---\r\nname: firmware\r\naspects:\r\n  - firmware\r\nfailures: stalled, any\r\nfiles: [.ino, \"*.c\", 7]\r\n---\r\nYou count cycles.\r\n",
		"README.md":   "# How we write experts",
		".draft.md":   "not yet",
		"notes.txt":   "no profile",
	})
	r, err := LoadRoster(dir)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Expert{}
	for _, e := range r.Experts() {
		by[e.Name] = e
	}
	same(t, "how many", len(by), 13)
	same(t, "replaced", by["tester"].Body, "Our own tester.\n---\nIt ends here.")
	same(t, "aspects", by["tester"].Aspects, []string{"payments", "real-time"})
	same(t, "failures", by["firmware"].Failures, []string{"any", "stalled"})
	same(t, "files", by["firmware"].Files, []string{"7", "c", "ino"})
	same(t, "no words", len(by["tester"].Files), 0)
	same(t, "body", by["firmware"].Body, "You count cycles.")
}

func TestNoOwnExperts(t *testing.T) {
	t.Parallel()
	r, err := LoadRoster(filepath.Join(t.TempDir(), "missing"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "names", names(r.Experts()), names(builtIn(t).Experts()))
}

func TestProfileErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		line       int
		problem    string
	}{
		{"empty", "", 1, "starts with front matter"},
		{"no front matter", "You think.", 1, "starts with front matter"},
		{"no end", "---\nname: x\nYou think.", 1, "has no end"},
		{"no name", "---\naspects: [a]\n---\nYou think.", 1, "write one, such as `name: own`"},
		{"nothing in front", "---\n---\nYou think.", 1, "has no name"},
		{"a comment in front", "---\n# later\n---\nYou think.", 1, "has no name"},
		{"bad name", "---\naspects: [a]\nname: ../x\n---\nYou think.", 3, "lower-case letters"},
		{"two names", "---\nname: [a, b]\n---\nYou think.", 2, "one word"},
		{"unknown key", "---\nname: x\n\naspect: [a]\n---\nYou think.", 4, `no key is called "aspect"`},
		{"unknown kind", "---\nname: x\nfailures: [test, sorrow]\n---\nYou think.", 3,
			`no kind of failure is called "sorrow"; there are: any, compile`},
		{"nested", "---\nname: x\naspects: {a: b}\n---\nYou think.", 3, "aspects is a word or a list of words"},
		{"nested list", "---\nname: x\naspects: [[a]]\n---\nYou think.", 3, "aspects is a word or a list of words"},
		{"not YAML", "---\nname: x\naspects: [a\n---\nYou think.", 3, "not YAML"},
		{"twice", "---\nname: x\nname: y\n---\nYou think.", 3, "not YAML"},
		{"two documents", "---\nname: x\n...\nname: y\n---\nYou think.", 2, "not one list of keys"},
		{"a list", "---\n- name\n---\nYou think.", 2, "not a list of keys"},
		{"no body", "---\nname: x\n---\n \n", 3, "says nothing"},
		{"a number alone", "---\n7\n---\nYou think.", 2, "not a list of keys"},
		{"too long", "---\nname: x\n---\n" + strings.Repeat("x", maxBody+1), 4, "at most 1500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := profileDir(t, map[string]string{"own.md": tt.text})
			_, err := LoadRoster(dir)
			pe, ok := errors.AsType[*ProfileError](err)
			if !ok {
				t.Fatalf("error: %v", err)
			}
			same(t, "file", pe.File, filepath.Join(dir, "own.md"))
			same(t, "line", pe.Line, tt.line)
			if !strings.Contains(pe.Problem, tt.problem) || strings.Contains(pe.Problem, "\n") {
				t.Errorf("problem %q, want %q", pe.Problem, tt.problem)
			}
		})
	}
}

func TestRosterReportsEveryMistake(t *testing.T) {
	t.Parallel()
	dir := profileDir(t, map[string]string{
		"a.md": "---\nname: same\n---\nA.", "b.md": "---\naspects: x\nname: same\n---\nB.", "c.md": "no front",
		"d.md": "---\n{name: same}\n---\nD."})
	_, err := LoadRoster(dir)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		filepath.Join(dir, "b.md") + ":3: " + filepath.Join(dir, "a.md") + ` has the name "same" as well`,
		filepath.Join(dir, "c.md") + ":1: ",
		filepath.Join(dir, "d.md") + ":1: " + filepath.Join(dir, "a.md") + ` has the name "same" as well`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

// A profile may be as long as the limit.
func TestLongestProfile(t *testing.T) {
	t.Parallel()
	dir := profileDir(t, map[string]string{"x.md": "---\nname: x\n---\n" + strings.Repeat("x", maxBody)})
	if _, err := LoadRoster(dir); err != nil {
		t.Error(err)
	}
}

func TestUnreadableExperts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(profileDir(t, map[string]string{"f": ""}), "f")
	if _, err := LoadRoster(file); err == nil || !strings.Contains(err.Error(), "reading the experts") {
		t.Errorf("error: %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add("---\nname: x\naspects: [a]\n---\nYou think.")
	f.Add("---\nname: x\n? [a]: &b *b\n---\nYou think.")
	f.Add("---\n&a name: !!str x\n<<: *a\n---\n\xff")
	f.Add("---\nname: |\n  x\n---\ny")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseProfile("own.md", []byte(text))
		if err != nil {
			pe, ok := errors.AsType[*ProfileError](err)
			if !ok || pe.Line < 1 || pe.Line > strings.Count(text, "\n")+2 || pe.Problem == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		if !validName(e.Name) || e.Body == "" || len(e.Body) > maxBody {
			t.Fatalf("%+v", e)
		}
	})
}
