//go:build unix

package e2e

import (
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// wavex logs and the page show the words, tools and edits in the real CLI's stream.
func TestLogsOfTheRealCLI(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{When: task("T-001"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write("a.txt", "one\ntwo\nthree\n")),
			fakeapi.Use(fakeapi.Edit("a.txt", "two", "zwei")),
			fakeapi.Use(fakeapi.Bash("grep zwei a.txt")),
			fakeapi.Text("It is German now."),
		}},
	}})
	r := newRepo(t, `
-- plan.json --
{"name": "german", "defaults": {"model": "`+model+`"}, "tasks": [
  {"id": "T-001", "subject": "Write it", "files": ["a.txt"], "verify": ["grep zwei a.txt"]}]}
`)
	if e := r.wavex(srv, "run", "plan.json", "--review", "off").end(); e.exit != 0 {
		t.Fatalf("exit %d\n%s", e.exit, e.stderr)
	}
	log := r.wavex(srv, "logs", "T-001").end()
	at := 0
	for _, want := range []string{
		"== T-001 Write it, attempt 1", "\n· claude ", " " + model,
		"\n→ Write  a.txt\n    (a new file)\n    @@ -0,0 +1,3 @@\n    +one\n",
		"\n→ Edit  a.txt\n    @@ -1,3 +1,3 @@\n     one\n    -two\n    +zwei\n     three\n",
		"\n→ Bash  grep zwei a.txt\n    zwei\n",
		"\nIt is German now.\n", "\n■ success after 4 turns, $0.", "\n== done",
	} {
		i := strings.Index(log.stdout[at:], want)
		if i < 0 {
			t.Fatalf("the log (exit %d) lacks, from byte %d on, %q:\n%s%s", log.exit, at, want, log.stdout, log.stderr)
		}
		at += i
	}
	page, err := reporttest.Unpack(r.wavex(srv, "report", "--html").end().stdout)
	testrepo.Must(t, err)
	for _, want := range []string{`@@ -0,0 +1,3 @@\n+one\n+two\n+three\n`, `@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n`,
		`"status":"complete"`, "It is German now."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
