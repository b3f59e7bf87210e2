package ui

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"wavex/dag"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

func openPlain(o Options) func(*buffer) View {
	return func(b *buffer) View { return Plain(b, o) }
}

// openBlocks opens a view whose status blocks go to the buffer.
func openBlocks(b *buffer) View { return WithStatusBlocks(Plain(io.Discard, Options{}), b) }

func TestPlainGolden(t *testing.T) {
	t.Parallel()
	for name, tell := range testRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "plain-"+name+".txt", viewOutput(t, tell, openPlain(Options{})))
		})
	}
}

// Other programs parse the announcements, so every golden file must keep their format.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	want := []*regexp.Regexp{
		regexp.MustCompile(`^\[LOOP\] Starting \| Shape: [^|]+ \| Workflow: [^|]+ \| Steps: \d+ \| Budget: (\$[\d.]+|none)$`),
		regexp.MustCompile(`^\[LOOP\] Iteration \d+/(\d+|unlimited) \| Cost: \$\d+\.\d{2,4}/(\$[\d.]+|none) \| Step: \[.+\]$`),
		regexp.MustCompile(`^\[LOOP\] ✓ \[.+\] complete \| Progress: \d+/\d+ \| Next: \[.+\]$`),
		regexp.MustCompile(`^\[LOOP\] Ended \| Status: \w+ \| Exit code: \d+ \| Progress: \d+/\d+ \| Cost: .+$`),
	}
	seen := make([]int, len(want))
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (.*)$`)
	sc := bufio.NewScanner(strings.NewReader(viewOutput(t, reporttest.MixedRun, openPlain(Options{}))))
	for sc.Scan() {
		m := stamp.FindStringSubmatch(sc.Text())
		if m == nil || !strings.HasPrefix(m[1], "[LOOP]") {
			continue
		}
		ok := false
		for i, re := range want {
			if re.MatchString(m[1]) {
				ok = true
				seen[i]++
			}
		}
		if !ok {
			t.Errorf("no announcement has this form: %s", m[1])
		}
	}
	// One start, an iteration per attempt, a line per completed task, one end.
	for i, n := range []int{1, 8, 4, 1} {
		if seen[i] != n {
			t.Errorf("announcement %d was made %d times, want %d", i, seen[i], n)
		}
	}
}

func TestStatusBlock(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile(`(?m)^---LOOP_STATUS---\nEXIT_SIGNAL: (true|false)\nCRITERIA: (\{.*\})\nSTUCK_COUNT: (\d+)\nNEXT: (.+)\n---END_STATUS---$`)
	for _, c := range []struct {
		tell   runFunc
		blocks int    // one per charged attempt, and one at the end
		last   string // without its criteria
	}{
		{reporttest.MixedRun, 8, `false {"all tasks completed": false} 2 none`},
		{reporttest.CompleteRun, 3, `true {"tests pass": true, "lint is \"clean\"": true} 0 none`},
	} {
		got := block.FindAllStringSubmatch(viewOutput(t, c.tell, openBlocks), -1)
		if len(got) != c.blocks {
			t.Errorf("%d blocks, want %d", len(got), c.blocks)
		}
		for i, b := range got {
			if i < len(got)-1 && b[1] != "false" {
				t.Errorf("block %d says EXIT_SIGNAL %s before the end", i, b[1])
			}
		}
		if last := strings.Join(got[len(got)-1][1:], " "); last != c.last {
			t.Errorf("last block: %s, want %s", last, c.last)
		}
	}
}

// Criteria with equal texts are different keys, those of state.json.
func TestStatusBlockOfEqualCriteria(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"a", "A", nil}}, plan.Condition{Text: "tests pass"},
		plan.Condition{Text: "tests pass"})
	s.StartRun(reporttest.Config())
	if got := statusBlock(s.S, &nextTask{}, s.Now()); !strings.Contains(got,
		`CRITERIA: {"tests pass": false, "tests pass (2)": false}`+"\n") {
		t.Errorf("the block is\n%s", got)
	}
}

func TestPlainASCII(t *testing.T) {
	t.Parallel()
	for i, r := range viewOutput(t, reporttest.MixedRun, openPlain(Options{ASCII: true})) {
		if r > 126 {
			t.Fatalf("character %q at byte %d", r, i)
		}
	}
}

func TestPlainObserve(t *testing.T) {
	t.Parallel()
	var out buffer
	v := Plain(&out, Options{Now: func() time.Time { return reporttest.Start }})
	v.Observe(runner.Observation{Task: "T-001", Kind: "tool", Text: "Edit main.go"})
	v.Observe(runner.Observation{Task: "T-001", Kind: "api_retry", Text: "overloaded, \x1b[2Jattempt 2"})
	v.Observe(runner.Observation{Task: "T-001", Kind: "api_retry", Text: "overloaded, \x1b[2Jattempt 2"})
	v.Observe(runner.Observation{Task: "T-001", Kind: "rate_limit", Text: "resets at noon"})
	testrepo.Must(t, v.Close())
	want := "2026-01-02T03:04:05Z T-001 api_retry: overloaded, attempt 2\n2026-01-02T03:04:05Z T-001 rate_limit: resets at noon\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// No view lets a foreign text control the terminal or speak for wavex.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*buffer) View{
		"plain":  openPlain(Options{}),
		"blocks": openBlocks,
		"ndjson": func(b *buffer) View { return NDJSON(b) },
	} {
		got := viewOutput(t, reporttest.HostileRun, open)
		for _, bad := range []string{"\x1b", "\r", "\x00", "\x07", "\u009b", "\u202e", "<loop-complete>"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s shows %q", name, bad)
			}
		}
		if n := strings.Count("\n"+got, "\n---LOOP_STATUS---"); name == "blocks" && n != 3 || name != "blocks" && n != 0 {
			t.Errorf("%s: %d status blocks, want 3", name, n)
		}
	}
}

// A question stays the last line while it waits for an answer, whatever is printed meanwhile.
func TestPlainQuestionIsLastLine(t *testing.T) {
	t.Parallel()
	out := &buffer{}
	s := scheduler.NewState(&plan.Plan{Tasks: []plan.Task{{ID: "a", Subject: "First"}},
		Graph: dag.NewBuilder(0).Build(1)})
	v := Plain(out, Options{Interactive: true, Now: func() time.Time { return reporttest.Start }})
	tell := func(b event.Body) { v.Event(event.Event{Time: reporttest.Start, Body: b}, s) }
	tell(event.Notice{Text: "before"})
	tell(event.Asked{Gate: "retry", Task: "a", Text: "Retry \x1b[31ma?"})
	tell(event.Notice{Text: "meanwhile"})
	v.Observe(runner.Observation{Task: "a", Kind: "api_retry", Text: "again"})
	tell(event.Answered{Gate: "retry", Task: "a", Yes: true})
	tell(event.Notice{Text: "after"})
	tell(event.Asked{Gate: "G3", Text: "Done?"})
	tell(event.Draining{Stop: event.Stop{Reason: "stopped"}})
	testrepo.Must(t, v.Close())
	at := reporttest.Start.UTC().Format(time.RFC3339) + " "
	got := strings.ReplaceAll(out.String(), at, "")
	const question = "\nRetry a? [Y/n] "
	want := "notice: before\n" + question + "\nnotice: meanwhile\n" + question + "\na api_retry: again\n" + question +
		"notice: after\n" + "\nDone? [Y/n] "
	if !strings.HasPrefix(got, want) || strings.Count(got, "Done?") != 1 {
		t.Errorf("told:\n%q\nwant\n%q", got, want)
	}
}
