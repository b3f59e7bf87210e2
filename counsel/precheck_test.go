package counsel

import (
	"encoding/json"
	"strings"
	"testing"

	"wavex/runner"
)

func TestTallyChallenge(t *testing.T) {
	t.Parallel()
	experts := []Expert{{Name: "debugger"}, {Name: "tester"}, {Name: "architect"}}
	said := func(text string) runner.Answer {
		return runner.Answer{Outcome: runner.Done, Structured: json.RawMessage(text), Cost: 100}
	}
	yes, no := said(`{"verdict":"go","reason":"fine","conditions":["keep a copy","tell\nthe users"]}`),
		said(`{"verdict":"stop","reason":"no way back","conditions":["keep a copy"]}`)
	odd, lost := said(`{"verdict":"perhaps"}`), runner.Answer{Outcome: runner.Limited, Reason: "later", Cost: 100}
	for name, test := range map[string]struct {
		answers []runner.Answer
		pass    bool
		reason  string
		err     string
	}{
		"all would":                    {[]runner.Answer{yes, yes, yes}, true, "fine", ""},
		"one of three would not":       {[]runner.Answer{yes, no, yes}, true, "fine", ""},
		"half of two would not":        {[]runner.Answer{no, yes}, false, "debugger: no way back", ""},
		"who is silent does not count": {[]runner.Answer{lost, odd, no}, false, "architect: no way back", ""},
		"nobody answered": {[]runner.Answer{lost, odd}, false, "",
			"nobody answered: debugger: limited: later; tester: unusable answer"},
		"all were stopped": {[]runner.Answer{lost, lost}, false, "", "nobody answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tallyChallenge(experts[:len(test.answers)], test.answers)
			if c.Go != test.pass || !strings.Contains(c.Reason, test.reason) || !strings.Contains(c.Error, test.err) ||
				(c.Error == "") != (test.err == "") {
				t.Errorf("got %+v", c)
			}
			if int(c.Cost) != 100*len(test.answers) {
				t.Errorf("it cost %d", c.Cost)
			}
			if same := name == "all were stopped"; same != (c.Failure == runner.Limited) {
				t.Errorf("the failure is %q", c.Failure)
			}
			if len(c.Conditions) > 2 || test.pass && c.Conditions[1] != "tell the users" {
				t.Errorf("conditions are %q", c.Conditions)
			}
		})
	}
}

// A challenge shows the task to two experts, or three if the work is broad, and shares its cap among them.
func TestChallenge(t *testing.T) {
	t.Parallel()
	c := ChallengeCase{Task: "T-003", Subject: "Drop the table", Description: strings.Repeat("Drop it. ", 900),
		Request: "clean up",
		Files:   []string{"drop.sql"}, Checks: []string{"make check"}, MustNot: []string{"no data is lost"},
		Cap: 600, LogDir: "/logs"}
	for n, aspects := range map[int][]string{2: nil, 3: {"data", "security", "operations"}} {
		c.Aspects = aspects
		p := scriptedCaller{t, map[string]runner.Answer{"precheck": said(100, `{"verdict":"go","reason":"fine"}`)},
			make(chan runner.Question, 9)}
		got := (&Panel{Caller: p, Experts: builtIn(t)}).Challenge(t.Context(), c)
		asked := allAsked(p)
		if !got.Go || len(got.Experts) != n || len(asked) != n || int(got.Cost) != 100*n {
			t.Errorf("%d questions, %+v", len(asked), got)
		}
		for _, q := range asked {
			same(t, "cap", int(q.Cap), 600/n)
			same(t, "tools", len(q.Tools), 3)
			same(t, "log", strings.HasPrefix(q.LogDir, "/logs/"), true)
			same(t, "name", strings.HasPrefix(q.Name, "precheck/T-003/"), true)
			for _, want := range []string{"T-003 Drop the table", strings.TrimSpace(c.Description), "clean up",
				"- drop.sql", "- make check",
				"- no data is lost"} {
				if !strings.Contains(q.Prompt, want) {
					t.Errorf("the prompt lacks %q", want)
				}
			}
		}
	}
	c.Cap = 1
	got := (&Panel{Caller: newFakeCaller(t), Experts: builtIn(t)}).Challenge(t.Context(), c)
	same(t, "too small a cap", strings.HasPrefix(got.Error, "the cap cannot be shared"), true)
}
