package runner

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
)

func TestClassifyWork(t *testing.T) {
	t.Parallel()
	good := check.Evidence{Check: "go test", Passed: true}
	bad := check.Evidence{Check: "go test", Reason: "exit code 1", Output: "FAIL x"}
	edit := []plan.File{{Path: "a.go", Action: "modify"}, {Path: "b.go", Action: "read"}}
	reads := []plan.File{{Path: "b.go", Action: "read"}}
	bash := []Denial{{Tool: "Bash", Rule: "Bash(make lint)", Kind: CommandTool}}
	ruled := []Denial{{Tool: "Bash", Rule: "Bash", Kind: CommandTool, By: "Bash in s"}}
	left := []Denial{{Tool: "Write", Rule: "Edit(//p/a.go)", Kind: EditTool, Left: "/p/a.go"}}
	fetch := []Denial{{Tool: "WebFetch", Rule: "WebFetch(domain:x)"}}
	no := "the agent reports unmet: x"
	for _, tc := range []struct {
		name   string
		work   work
		want   Outcome
		reason string
	}{
		{"checks pass, file changed", work{checks: []check.Evidence{good}, files: edit, changed: []string{"a.go"}}, Done,
			""},
		{"no checks, nothing promised", work{}, Done, ""},
		{"no checks, only reads", work{files: reads}, Done, ""},
		{"a check fails", work{checks: []check.Evidence{good, bad}, files: edit, changed: []string{"a.go"}}, Wrong,
			"check failed: go test: exit code 1"},
		{"two checks fail", work{checks: []check.Evidence{bad, bad}}, Wrong, "(and 1 more)"},
		{"promised, nothing changed", work{checks: []check.Evidence{good}, files: edit}, Wrong,
			"the declared files are unchanged: a.go"},
		{"promised, nothing changed, vacuous", work{checks: []check.Evidence{good}, files: edit, vacuous: true}, Wrong,
			"passed before the attempt already"},
		{"promised, and there before", work{checks: []check.Evidence{good}, files: edit, vacuous: true, present: true},
			Done, ""},
		{"there, perhaps before", work{checks: []check.Evidence{good}, files: edit, unmeasured: true, present: true},
			Done, ""},
		{"there before, without checks", work{files: edit, present: true}, Wrong, "the declared files are unchanged"},
		{"vacuous, but changed", work{checks: []check.Evidence{good}, files: edit, changed: []string{"a.go"}, vacuous: true},
			Done, ""},
		{"denied, checks fail", work{checks: []check.Evidence{bad}, denials: bash}, Denied,
			"add to allowedTools: Bash(make lint)"},
		{"denied by the way, edits made, checks fail", work{checks: []check.Evidence{bad}, denials: bash, edited: true},
			Wrong, "check failed"},
		{"denied by the way, files changed, checks fail", work{checks: []check.Evidence{bad}, denials: bash, files: edit,
			changed: []string{"a.go"}}, Wrong, "check failed"},
		{"an edit denied after others, checks fail", work{checks: []check.Evidence{bad},
			denials: []Denial{{Tool: "Edit", Rule: "Edit(/x/**)", Kind: EditTool}}, edited: true}, Denied, "Edit(/x/**)"},
		{"denied, checks pass, it says not done", work{checks: []check.Evidence{good}, denials: bash,
			unfinished: "not done"}, Denied, "not done"},
		{"denied by the way, checks pass, it says not done", work{checks: []check.Evidence{good}, denials: bash,
			edited: true, unfinished: "not done"}, Wrong, "not done"},
		{"denied, checks pass", work{checks: []check.Evidence{good}, denials: bash}, Done, ""},
		{"denied by a rule", work{checks: []check.Evidence{bad}, denials: ruled}, Denied,
			"Bash is denied by the rule Bash in s"},
		{"denied outside of its directory", work{checks: []check.Evidence{bad}, denials: left}, Denied,
			"directory for /p/a.go"},
		{"denied in spite of its rule", work{checks: []check.Evidence{bad}, denials: []Denial{{Tool: "Bash"}}}, Denied,
			"Bash is denied in spite of its rule"},
		{"denied, no checks, promise broken", work{files: edit, denials: fetch}, Denied, "WebFetch(domain:x)"},
		{"edit denied, checks pass, promise broken", work{checks: []check.Evidence{good}, files: edit, denials: bash},
			Denied, "the declared files are unchanged"},
		{"a fetch denied, checks pass, promise broken", work{checks: []check.Evidence{good}, files: edit, denials: fetch},
			Wrong, "the declared files are unchanged"},
		{"denied by a rule, but it could edit", work{checks: []check.Evidence{bad}, denials: ruled, edited: true}, Wrong,
			"; Bash is denied by the rule Bash in s"},
		{"the agent says failure, checks pass", work{checks: []check.Evidence{good}, unfinished: no}, Wrong,
			"the agent reports unmet"},
		{"the agent says failure, checks fail", work{checks: []check.Evidence{bad}, unfinished: no}, Wrong, "check failed"},
		{"the agent says success, checks fail", work{checks: []check.Evidence{bad}, unfinished: ""}, Wrong,
			"check failed"},
		{"stopped during the checks", work{checks: []check.Evidence{bad}, stop: errors.New("ctrl-c"), denials: bash},
			Interrupted, "ctrl-c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := classifyWork(tc.work)
			if v.outcome != tc.want || !strings.Contains(v.reason, tc.reason) || strings.Contains(v.reason, "and 0 more") {
				t.Errorf("classifyWork = %s %q, want %s %q", v.outcome, v.reason, tc.want, tc.reason)
			}
			failed := slices.ContainsFunc(tc.work.checks, func(e check.Evidence) bool { return !e.Passed })
			denied := strings.Contains(v.detail, "permission denied") || strings.Contains(v.detail, "denied by the rule")
			if denied != (failed && len(tc.work.denials) > 0 && tc.want == Wrong) ||
				strings.Contains(v.detail, "FAIL x") != (failed && tc.want != Interrupted) {
				t.Errorf("the next attempt learns %q", v.detail)
			}
		})
	}
}

func TestReadClaim(t *testing.T) {
	t.Parallel()
	block := func(exit, criteria, next string) string {
		return "Report.\n---LOOP_STATUS---\nEXIT_SIGNAL: " + exit + "\nCRITERIA: " + criteria + "\nSTUCK_COUNT: 0\nNEXT: " +
			next + "\n---END_STATUS---\n"
	}
	for _, tc := range []struct {
		name, report string
		want         string
	}{
		{"no block", "all good", ""},
		{"all met", block("true", `{"a":true}`, "none"), ""},
		{"unmet", block("false", `{"lint":true,"tests pass":false}`, "Fix tests"),
			"the agent reports unmet: tests pass; next: Fix tests"},
		{"unmet, yet it signals the exit", block("true", `{"a":false}`, "none"), "the agent reports unmet: a"},
		{"no criteria, not finished", block("false", `{}`, "go on"),
			"the agent reports that it is not finished; next: go on"},
		{"its part is met, the loop goes on", block("false", `{"a":true}`, "T-002"), ""},
		{"criteria unreadable", block("true", `{oops`, "none"), ""},
		{"the last block counts", block("false", `{"a":false}`, "x") + block("true", `{"a":true}`, "none"),
			""},
		{"unmet in any order", block("false", `{"d":false,"b":false,"c":false,"a":false}`, "none"),
			"the agent reports unmet: a, b, c, d"},
		{"its last criteria unreadable", block("true", "{\"a\":false}\nCRITERIA: {oops", "none"), ""},
		{"unclosed", "---LOOP_STATUS---\nEXIT_SIGNAL: FALSE", "the agent reports that it is not finished"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := unfinishedWork(tc.report); got != tc.want {
				t.Errorf("unfinishedWork = %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzUnfinishedWork(f *testing.F) {
	f.Add("---LOOP_STATUS---\nEXIT_SIGNAL: false\nCRITERIA: {\"a\":false}\nNEXT: x\n---END_STATUS---")
	f.Fuzz(func(t *testing.T, report string) {
		got := unfinishedWork(report)
		if got != "" && !strings.Contains(report, "---LOOP_STATUS---") || strings.Contains(got, "\n") {
			t.Errorf("unfinishedWork = %q", got)
		}
	})
}

func TestSignature(t *testing.T) {
	t.Parallel()
	same := [][2][2]string{
		{{"check failed: go test: exit code 1",
			"--- FAIL: TestX (0.01s)\n    /tmp/tmp.Xk3f9QaLzB/x_test.go:12: got 3, want 4\n"},
			{"check failed: go test: exit code 1",
				"--- FAIL: TestX (1.20s)\n    /tmp/tmp.0vPqYc71mN/x_test.go:19: got 3, want 4\n"}},
		{{"not finished after 30m0s", ""}, {"not finished after 15m0s", ""}},
		{{"API Error at 2026-11-21T03:00:00Z id 0xdeadbeef", ""}, {"API Error at 2025-01-02T04:05:06.7Z id 0xfeedface", ""}},
	}
	for _, s := range same {
		if a, b := Signature(s[0][0], s[0][1]), Signature(s[1][0], s[1][1]); a != b || a == "" {
			t.Errorf("one error, two signatures:\n%q\n%q", a, b)
		}
	}
	a := Signature("check failed: go test: exit code 1", "x_test.go:12: undefined: foo")
	b := Signature("check failed: go test: exit code 1", "x_test.go:12: missing return")
	if a == b {
		t.Errorf("two errors, one signature: %q", a)
	}
	if got := Signature("", ""); got != "" {
		t.Errorf("signature of nothing = %q", got)
	}
	// Journals keep signatures, so a later version must make the same ones.
	for _, c := range [][3]string{{"not finished", "", "not finished #4694e325e808f538"},
		{"", "a\n b", " #96332c6f316abd03"}} {
		if got := Signature(c[0], c[1]); got != c[2] {
			t.Errorf("signature of %q = %q, want %q", c, got, c[2])
		}
	}
}

// A full disk stands behind the reason of a failure; a limit that the attempt reached stands before it.
func TestWithLimits(t *testing.T) {
	t.Parallel()
	full := proc.Limit{Reached: "the disk of /w is full", Remedy: "free some space there"}
	const failed = "check failed: go test"
	for _, tc := range []struct {
		reason, reached string
		disk            proc.Limit
		want            string
	}{
		{failed, "", proc.Limit{}, failed},
		{failed, "", full, failed + "; the disk of /w is full; free some space there"},
		{failed, "memory limit", full, "memory limit: " + failed + "; the disk of /w is full; free some space there"},
		{"memory limit: " + failed, "memory limit", proc.Limit{}, "memory limit: " + failed},
		{"no space left: " + full.String(), "", full, "no space left: " + full.String()},
	} {
		if got := withLimits(tc.reason, tc.reached, tc.disk); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// Each outcome has a class, and says whether the task is stuck and whether the attempt was an iteration.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	want := map[Outcome]string{Done: " charged", Wrong: "logic stuck charged", OverTurns: "logic stuck charged",
		TimedOut: "logic stuck charged", Stalled: "logic stuck charged", OverCap: " charged", Denied: "blocking charged",
		Throttled: "transient", Limited: "transient", Unauthorised: "blocking", Broken: "blocking",
		Refused: "blocking charged", Truncated: "unknown charged", Interrupted: ""}
	for _, o := range Outcomes {
		got := o.Class()
		if o.Stuck() {
			got += " stuck"
		}
		if o.Charged() {
			got += " charged"
		}
		if w, known := want[o]; got != w || !known {
			t.Errorf("%s: %q, want %q", o, got, w)
		}
	}
	if len(want) != len(Outcomes) {
		t.Errorf("%d outcomes, want %d", len(Outcomes), len(want))
	}
}

// The files of a task are present if those that it creates or modifies exist and it deletes none.
func TestArePresent(t *testing.T) {
	t.Parallel()
	digests := map[string]string{"there": "1", "gone": ""}
	for _, c := range []struct {
		path, action string
		want         bool
	}{{"there", "create", true}, {"there", "modify", true}, {"gone", "create", false}, {"gone", "read", true},
		{"there", "delete", false}, {"gone", "delete", false}} {
		files := []plan.File{{Path: "there", Action: "modify"}, {Path: c.path, Action: c.action}}
		if got := arePresent(files, digests); got != c.want {
			t.Errorf("%s, which is %s: %v", c.action, c.path, got)
		}
	}
}

// A reason names at most three rules that would have allowed denied tool calls.
func TestDenialReason(t *testing.T) {
	t.Parallel()
	all := []Denial{{Rule: "a"}, {Rule: "b"}, {Rule: "c"}, {Rule: "d"}, {Rule: "e"}}
	for n, want := range map[int]string{1: "a", 3: "a, b, c", 4: "a, b, c, ...", 5: "a, b, c, ..."} {
		if got := denialReason(all[:n]); got != "permission denied; to allow it, add to allowedTools: "+want {
			t.Errorf("%d denials: %q", n, got)
		}
	}
}
