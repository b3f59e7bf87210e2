package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func writePage(t *testing.T, s *reporttest.FakeRun) string {
	t.Helper()
	var b bytes.Buffer
	testrepo.Must(t, page.Write(&b, page.Of(s.S, s.Events, s.Now(), false), page.DetailsOf(s.S, s.Events, nil), nil))
	return unpacked(t, b.String())
}

// unpacked returns a page with its details as JSON.
func unpacked(t *testing.T, html string) string {
	t.Helper()
	out, err := reporttest.Unpack(html)
	testrepo.Must(t, err)
	return out
}

// pageData decodes the JSON of one of the page's data blocks.
func pageData(t *testing.T, html, id string, v any) {
	t.Helper()
	_, rest, ok := strings.Cut(html, `<script type="application/json" id="`+id+`">`)
	text, _, ok2 := strings.Cut(rest, "</script>")
	if !ok || !ok2 {
		t.Fatalf("the page has no data %q", id)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
}

// No text of a plan, an agent or a check can become markup or script.
func TestForeignTextIsData(t *testing.T) {
	t.Parallel()
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)><!--<script>{{.}}`
	s := reporttest.New(t, evil, reporttest.Tasks{{ID: evil, Subject: evil}})
	s.S.Plan.Request = evil
	r := reporttest.FailingResult(10_000)
	r.Reason, r.Detail, r.Report, r.Checks[0].Check, r.Checks[0].Output = evil, evil, evil, evil, evil
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt(evil, 0).Advance(time.Second).EndAttempt(evil, r,
		event.Failed, nil).EndRun("failed",
		1, evil, evil)
	html := writePage(t, s)
	if n := strings.Count(html, "<script"); n != 3 {
		t.Errorf("%d script elements, want 3: the data, the detail, the script", n)
	}
	if strings.Contains(html, "<img") || strings.Contains(html, "<!--") {
		t.Error("foreign markup is in the page")
	}
	var run page.Run
	pageData(t, html, "run", &run)
	if run.Tasks[0].ID != evil || run.Name != evil {
		t.Errorf("the text has changed: %q", run.Tasks[0].ID)
	}
}

func TestHostileTextIsClean(t *testing.T) {
	t.Parallel()
	html := writePage(t, reporttest.HostileRun(t, nil))
	for _, bad := range []string{"\x1b", "\u009b", "\u202e", `\u001b`, `\u202e`, `\u009b`, "\x00", `\u0000`,
		"<loop-complete>", `\u003cloop-complete\u003e`} {
		if strings.Contains(html, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(html, "終わり") {
		t.Error("the harmless part of the text is gone")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := reporttest.MixedRun(t, nil)
	var run page.Run
	pageData(t, writePage(t, s), "run", &run)
	if run.Status != "failed" || run.Cost != 1_659_000 || run.CounselCost != 40_000 || *run.Budget != 25_000_000 ||
		run.Waves != 3 || len(run.Tasks) != 6 {
		t.Errorf("%+v", run)
	}
	kinds := map[string]int{}
	for _, p := range run.Spans {
		kinds[p.Kind+" "+p.Outcome]++
		if p.To < p.From || p.Open {
			t.Errorf("span %+v", p)
		}
	}
	want := map[string]int{"attempt done": 4, "attempt wrong": 3, "attempt throttled": 1, "counsel done": 1, "wait ": 1}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("spans %v, want %v", kinds, want)
	}
	for _, p := range run.Spans { // it waited until it started again
		if p.Kind == "wait" && p.To-p.From != 20_000 {
			t.Errorf("the wait took %d ms", p.To-p.From)
		}
	}
	last := run.Spending[len(run.Spending)-1]
	if last[1] != int64(run.Cost) || len(run.Sessions) != 1 || run.Sessions[0][1]-run.Sessions[0][0] != 220_000 {
		t.Errorf("burn ends at %v, sessions %v", last, run.Sessions)
	}
	// T-003 took 33 s of attempts, T-005 152 s; T-006 after it never ran.
	if fmt.Sprint(run.Critical) != "[2 4]" || run.CriticalBy != "time" {
		t.Errorf("the longest chain is %v by %s", run.Critical, run.CriticalBy)
	}
	var d page.Detail
	pageData(t, writePage(t, s), "d1", &d)
	if len(d.Attempts) != 2 || d.Attempts[0].End.Result.Outcome != "wrong" || len(d.Attempts[0].Counsel) != 1 ||
		len(d.Attempts[0].Counsel[0].Verdict.Opinions) != 3 ||
		!d.Attempts[1].Advised || d.Attempts[0].End.Result.Checks[0].ExitCode != 1 || d.Line != 11 {
		t.Errorf("%+v", d)
	}
}

// A run without an end was cut off if no process works at it; else it grows until now.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	s := reporttest.PausedRun(t, nil)
	now := s.Now().Add(5 * time.Second)
	off := page.Of(s.S, s.Events, now, false)
	on := page.Of(s.S, s.Events, now, true)
	if off.Status != "cut off" || off.Resume != "wavex resume" || off.Tasks[1].Now != nil {
		t.Errorf("%s, %+v", off.Status, off.Tasks[1])
	}
	if on.Status != "running" || on.Tasks[1].Now == nil {
		t.Errorf("%s, %+v", on.Status, on.Tasks[1])
	}
	if p := on.Spans[len(on.Spans)-1]; !p.Open || p.To-p.From != 5000 {
		t.Errorf("the open attempt is %+v", p)
	}
	if len(on.Sessions) != 2 || len(on.Budgets) != 1 || on.Budgets[0][1] != -1 || on.Budget != nil {
		t.Errorf("sessions %v, budgets %v", on.Sessions, on.Budgets)
	}
}

// Prompts and edits come from the attempts' files; without the files the rest is shown.
func TestFilesOfAttempts(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	files := fstest.MapFS{
		"T-001/attempt-1/prompt.md": {Data: []byte("Do\x1b[31m it.\r\n")},
		"T-001/attempt-1/stream.jsonl": {Data: []byte(`{"type":"assistant","message":{"content":[{"id":"t","name":"Write","type":"tool_use","input":{"file_path":"/project/a/b.txt","content":"x\ty"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]}}
`)},
	}
	d := page.DetailsOf(s.S, s.Events, files)
	a := d.Task(0, true).Attempts[0]
	if a.Prompt != "Do it.\n" {
		t.Errorf("prompt %q", a.Prompt)
	}
	if fmt.Sprintf("%+v", a.Steps) != "[{Kind:tool Text:Write  /project/a/b.txt Failed:false Edit:false Inner:false} "+
		"{Kind:answer Text:@@ -0,0 +1,1 @@\n+x\ty\n Failed:false Edit:true Inner:false}]" {
		t.Errorf("steps %+v", a.Steps)
	}
	if a := d.Task(0, false).Attempts[0]; a.Prompt != "" || a.Steps != nil {
		t.Error("texts that were not asked for")
	}
	if a := d.Task(1, true).Attempts[0]; a.Prompt != "" || len(a.End.Result.Checks) != 1 {
		t.Errorf("%+v", a)
	}
}

// The page has the verdict of a complete run and says how each task is known; another run has none.
func TestVerdictOnThePage(t *testing.T) {
	t.Parallel()
	s := reporttest.ReviewedRun(t, nil)
	run, v := page.Of(s.S, s.Events, s.Now(), false), report.VerdictOf(s.S)
	if run.Verdict != v.Word || !slices.Equal(run.Risks, v.Risks) {
		t.Errorf("%s %q, want %s %q", run.Verdict, run.Risks, v.Word, v.Risks)
	}
	s = reporttest.RefusedRun(t, nil)
	run = page.Of(s.S, s.Events, s.Now(), false)
	if run.Verdict != "" || run.Risks != nil {
		t.Errorf("%s %q without an exit signal", run.Verdict, run.Risks)
	}
	for i, task := range run.Tasks {
		if task.Known != report.Known(s.S.TaskEvidence()[i]) || task.Known == "" {
			t.Errorf("%s is known by %q", task.ID, task.Known)
		}
	}
}

// Reviews, criteria with their evidence, integrations and the delivery are shown, and their cost is
// in the sum.
func TestGateAndReviews(t *testing.T) {
	t.Parallel()
	s := reporttest.RefusedRun(t, nil)
	run := page.Of(s.S, s.Events, s.Now(), false)
	var kinds []string
	for _, p := range run.Spans {
		kinds = append(kinds, p.Kind+":"+p.Outcome)
	}
	if got := strings.Join(kinds, " "); got != "attempt:done attempt:done integration:done criteria:done review:wrong delivery:done" {
		t.Errorf("spans %s", got)
	}
	if last := run.Spending[len(run.Spending)-1]; last[1] != 290_000 || run.Cost != 290_000 {
		t.Errorf("burn ends at %v, cost %d", last, run.Cost)
	}
	if len(run.Reviews) != 1 || run.Reviews[0].Passed || len(run.Reviews[0].Findings) != 3 {
		t.Fatalf("%+v", run.Reviews)
	}
	f := run.Reviews[0].Findings
	if !f[0].Blocks || f[0].Location != "cache/cache.go:41" || f[0].State != "confirmed" || f[1].Blocks ||
		f[2].State != "refuted: it is copied first" {
		t.Errorf("%+v", f)
	}
	if c := run.Criteria; len(c) != 2 || !c[0].Met || c[0].Check != "go test -bench ." || c[1].Met ||
		c[1].By != "assumption" {
		t.Errorf("%+v", c)
	}
	var notes []string
	for _, n := range run.Notes {
		notes = append(notes, n.Level+" "+n.Text)
	}
	if got := strings.Join(notes, "; "); got != "stop the gate refuses: 1 confirmed blocker; info delivered: branch wavex/r-1; take the work over with: git merge wavex/r-1" {
		t.Errorf("notes %s", got)
	}
}

// Secrets are removed from the details before they are compressed.
func TestDetailsWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	s.S.Plan.Tasks[0].Description = "log in with hunter22"
	var b bytes.Buffer
	testrepo.Must(t, page.Write(&b, page.Of(s.S, s.Events, s.Now(), false), page.DetailsOf(s.S, s.Events, nil),
		func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("hunter22"), []byte("[redacted]")) }))
	text := unpacked(t, b.String())
	if strings.Contains(text, "hunter22") || !strings.Contains(text, "log in with [redacted]") {
		t.Error("the page has the secret")
	}
}

// eachAttempt is a file system in which every attempt has the same prompt and the same stream.
type eachAttempt struct{ files fstest.MapFS }

func (f eachAttempt) Open(name string) (fs.File, error) { return f.files.Open(path.Base(name)) }

// The page of 46 tasks is below 300 KB, that of 1,000 below 5 MB, with a prompt and edits for each attempt.
func TestPageSize(t *testing.T) {
	t.Parallel()
	edit := `{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]},` +
		`"tool_use_result":{"filePath":"/project/parse.go","structuredPatch":[{"oldStart":12,"oldLines":4,` +
		`"newStart":12,"newLines":5,"lines":[%s]}]}}` + "\n"
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf(`"+\tcase %d: return parse(in, %d), nil"`, i, i*i))
	}
	files := eachAttempt{fstest.MapFS{
		"prompt.md":    {Data: []byte(strings.Repeat("Keep the tests, and leave other files alone.\n", 90))},
		"stream.jsonl": {Data: []byte(fmt.Sprintf(edit, strings.Join(lines, ",")))},
	}}
	for n, most := range map[int]int{46: 300_000, 1000: 5_000_000} {
		s := reporttest.BigRun(t, n)
		var b bytes.Buffer
		r, d := page.Of(s.S, s.Events, s.Now(), false), page.DetailsOf(s.S, s.Events, files)
		testrepo.Must(t, page.Write(&b, r, d, nil))
		t.Logf("%d tasks: %d bytes", n, b.Len())
		if b.Len() >= most {
			t.Errorf("the page of %d tasks has %d bytes, of %d", n, b.Len(), most)
		}
	}
}
