package notes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	testrepo.Must(t, err)
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"login-feature": "login-feature", "Login  Feature!": "login-feature", "../../etc": "etc", "Größe 2": "größe-2",
		"--": "", "": "",
		"a\x00b": "a-b", strings.Repeat("x", 100): strings.Repeat("x", maxSlug),
	} {
		if got := Slug(text); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCreateAndFindDir(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	at := time.Date(2026, 1, 23, 12, 0, 0, 0, time.UTC)
	old, err := Create(project, Meta{Slug: "login", Goal: "Users: \"log\" in\n", Pipeline: "plan -> tasks",
		At: at.AddDate(0, 0, -1)})
	must(t, err)
	dir, err := Create(project, Meta{Slug: "login", At: at})
	must(t, err)
	if want := filepath.Join(project, ".claude", "pensieve", "loop", "2026-01-23-login"); dir != want {
		t.Errorf("made %s, want %s", dir, want)
	}
	if _, err := Create(project, Meta{Slug: "login", At: at}); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
	meta, err := os.ReadFile(filepath.Join(old, MetaFile))
	must(t, err)
	for _, part := range []string{"---\nslug: login\n", "goal: \"Users: \\\"log\\\" in\\n\"\n",
		"pipeline: \"plan -> tasks\"\n", "\n# login\n"} {
		if !strings.Contains(string(meta), part) {
			t.Errorf("_meta.md lacks %q:\n%s", part, meta)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ContextFile)); err == nil {
		t.Error("_context.md is there before anybody wrote it (LEDGER S3-07)")
	}
	for name, want := range map[string]string{"login": dir, "Login": dir, "2026-01-22-login": old, old: old,
		".claude/pensieve/loop/2026-01-22-login": old, "log": "", ".": "", "": ""} {
		got, err := FindDir(project, name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Find(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	for file, want := range map[string]string{filepath.Join(dir, "plan.json"): dir,
		filepath.Join(project, "plan.json"): "", filepath.Join(dir, "sub", "plan.json"): ""} {
		if got := DirOf(project, file); got != want {
			t.Errorf("Of(%q) = %q, want %q", file, got, want)
		}
	}
}

func TestInsertEntries(t *testing.T) {
	t.Parallel()
	entry := Entry{Deviations, []string{"Before: x", "Found: y"}, "r/1"}
	const own = "- Before: x\n- Found: y <!-- wavex r/1 -->\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"", "## Post-Context\n\n### Deviations\n\n" + own},
		"no post-context": {"# Context\n\n## Pre-Context\nGoal: x",
			"# Context\n\n## Pre-Context\nGoal: x\n\n## Post-Context\n\n### Deviations\n\n" + own},
		"the seed's form": {"## Pre-Context\na\n\n---\n\n## Post-Context\n\n> If so, note.\n\n### Deviations\n[Pre vs reality]\n- Before: XXX\n\n### Interventions\n[Manual]\n",
			"## Pre-Context\na\n\n---\n\n## Post-Context\n\n> If so, note.\n\n### Deviations\n[Pre vs reality]\n- Before: XXX\n" + own + "\n### Interventions\n[Manual]\n"},
		"no such section": {"## Post-Context\nnone\n\n## Later\nz\n", "## Post-Context\nnone\n\n### Deviations\n\n" +
			own + "\n## Later\nz\n"},
		"sections side by side": {"## Post-Context\n### Deviations\n### Interventions\n",
			"## Post-Context\n### Deviations\n\n" + own + "\n### Interventions\n"},
		"a heading in a fence": {"## Post-Context\n```\n### Deviations\n```\n",
			"## Post-Context\n```\n### Deviations\n```\n\n### Deviations\n\n" + own},
		"the wrong part": {"### Deviations\nof another\n\n## Post-Context\n",
			"### Deviations\nof another\n\n## Post-Context\n\n### Deviations\n\n" + own},
		"there already": {"## Post-Context\n\n### Deviations\n\n" + own, "## Post-Context\n\n### Deviations\n\n" +
			own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := insertEntries(c.text, []Entry{entry}); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			crlf := strings.ReplaceAll(c.text, "\n", "\r\n")
			if got := insertEntries(crlf, []Entry{entry}); crlf != c.text && got != strings.ReplaceAll(c.want, "\n", "\r\n") {
				t.Errorf("with CRLF: %q", got)
			}
		})
	}
}

// Existing lines stay in their order, and an entry is added once.
func TestInsertEntriesProperties(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"# A", "## Post-Context", "### Deviations", "### Interventions", "- x", "", "---",
		"```", "text", "\ufeff", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(words, 0, 12).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		var entries []Entry
		for i := range rapid.IntRange(1, 3).Draw(t, "entries") {
			entries = append(entries, Entry{rapid.SampledFrom([]Section{Deviations, Interventions}).Draw(t, "section"),
				[]string{"one", "two"}, strings.Repeat("k", i+1)})
		}
		got := insertEntries(text, entries)
		if again := insertEntries(got, entries); again != got {
			t.Fatalf("added twice:\n%q\n%q", got, again)
		}
		rest := strings.Split(got, "\n")
		for _, l := range lines {
			for len(rest) > 0 && rest[0] != l {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Fatalf("line %q of %q is not in %q", l, text, got)
			}
			rest = rest[1:]
		}
		for _, e := range entries {
			if strings.Count(got, e.marker()) != 1 {
				t.Fatalf("%q has not one %s", got, e.marker())
			}
		}
	})
}

func TestWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, ContextFile), []byte("# C\n\n## Pre-Context\nAgreed.\n"), 0o600))
	tell := func(story func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun) string {
		d := NewWriter(dir, func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "attempt", "SECRET")) })
		story(t, d.Event)
		must(t, d.Close())
		text, err := ReadContext(dir)
		must(t, err)
		return text
	}
	once := tell(reporttest.MixedRun)
	for _, part := range []string{"# C\n\n## Pre-Context\nAgreed.\n", "### Deviations\n\n- Before: T-", "- Found: ",
		"- Adjustment: by counsel: ", "- Adjustment: given up"} {
		if !strings.Contains(once, part) {
			t.Errorf("lacks %q:\n%s", part, once)
		}
	}
	if strings.Contains(once, "attempt 1") {
		t.Errorf("a secret was kept:\n%s", once)
	}
	if again := tell(reporttest.MixedRun); again != once {
		t.Errorf("told twice, it is there twice:\n%s", again)
	}
	st, err := os.Stat(filepath.Join(dir, ContextFile))
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v by now", st.Mode())
	}
	hostile := tell(reporttest.HostileRun)
	if strings.ContainsAny(hostile, "\x1b\x00") {
		t.Errorf("control characters: %q", hostile)
	}
}

func TestWriterOfACompleteRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := NewWriter(dir, nil)
	reporttest.CompleteRun(t, d.Event)
	must(t, d.Close())
	if text, err := ReadContext(dir); err != nil || !strings.Contains(text, "complete, no deviation") {
		t.Errorf("%q, %v", text, err)
	}
	d = NewWriter(dir, nil)
	reporttest.PausedRun(t, d.Event)
	must(t, d.Close())
	if text, err := ReadContext(dir); err != nil ||
		!strings.Contains(text, "### Interventions\n\n- 2026-01-02 04:04Z: resumed with 2 tasks") {
		t.Errorf("%q, %v", text, err)
	}
	gone := NewWriter(filepath.Join(dir, "gone"), nil)
	reporttest.CompleteRun(t, gone.Event)
	if err := gone.Close(); err == nil {
		t.Error("wrote into a directory that is not there")
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	if got := Excerpt("a <!-- wavex r/1 -->\nb\n", 100); got != "a\nb" {
		t.Errorf("%q", got)
	}
	got := Excerpt("BEGIN"+strings.Repeat("ü", 1000)+"END", 101)
	if len(got) > 160 || !strings.HasPrefix(got, "BEGIN") || !strings.HasSuffix(got, "END") ||
		strings.ToValidUTF8(got, "?") != got {
		t.Errorf("%q", got)
	}
}

func FuzzContext(f *testing.F) {
	f.Add("## Post-Context\r\n### Deviations\r\n- x")
	f.Add("\ufeff\x00```\n### Interventions")
	f.Fuzz(func(t *testing.T, text string) {
		e := []Entry{{Interventions, []string{"one"}, "r/1"}}
		got := insertEntries(text, e)
		if insertEntries(got, e) != got || !strings.Contains(got, e[0].marker()) {
			t.Fatalf("%q becomes %q", text, got)
		}
		Excerpt(got, 20)
	})
}
