package agent

import (
	"encoding/json"
	"fmt"
	"testing"

	"wavex/internal/event"
	"wavex/internal/rehearse"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func scenario(t *testing.T, text string) *rehearse.Scenario {
	t.Helper()
	s, err := rehearse.ParseScenario([]byte(text))
	testrepo.Must(t, err)
	return s
}

func TestNeedsAgent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"tasks":[{"id":"a","subject":"a","command":"true"}]}`:                          false,
		`{"tasks":[{"id":"a","subject":"a","command":"true"},{"id":"b","subject":"b"}]}`: true,
		`{"tasks":[{"id":"a","subject":"a","foreach":{"command":"ls"}}]}`:                true,
	} {
		if got := NeedsAgent(testrepo.Plan(t, ".", text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The name of the rehearsal agent is the one on record.
func TestRehearsalName(t *testing.T) {
	t.Parallel()
	if Rehearsal != event.Rehearsal {
		t.Error(Rehearsal)
	}
}

// Only the rehearsal agent gets its folder of sessions, and the speed of time if one is set.
func TestEnv(t *testing.T) {
	if env := (Agent{Name: Claude}).Env("/s"); env != nil {
		t.Errorf("claude is told %v", env)
	}
	for speed, want := range map[string]int{"": 1, "10": 2} {
		t.Setenv(rehearse.SpeedVar, speed)
		env := Agent{Name: Rehearsal}.Env("/s")
		if len(env) != want || env[rehearse.SpeedVar] != speed || env[rehearse.SessionsVar] != "/s" {
			t.Errorf("%q: %v", speed, env)
		}
	}
}

// The task's block overrides the plan's, and the scenario overrides both. A task that the plan
// lacks is strange, except those that a review may add.
func TestBlock(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, ".", `{"rehearse":{"duration":"1s","cost":1},"tasks":[{"id":"T-1","subject":"a","rehearse":{"cost":2}},{"id":"b","subject":"b"}]}`)
	a := Agent{Name: Rehearsal, Scenario: scenario(t, `{"tasks":{"T-1":{"duration":"3s"},"t-001":{},"R-001":{},"zz":{}}}`)}
	for i, want := range []string{`{"cost":2,"duration":"3s"}`, `{"cost":1,"duration":"1s"}`} {
		if got := normalizeJSON(t, a.Block(p, &p.Tasks[i])); got != want {
			t.Errorf("%s: %s, want %s", p.Tasks[i].ID, got, want)
		}
	}
	if got := fmt.Sprint(a.UnknownTasks(p)); got != "[t-001 zz]" {
		t.Errorf("strange are %s", got)
	}
	a.Scenario = nil
	if got := normalizeJSON(t, a.Block(p, &p.Tasks[0])); got != `{"cost":2,"duration":"1s"}` || a.UnknownTasks(p) != nil {
		t.Errorf("without a scenario %s, %v", got, a.UnknownTasks(p))
	}
}

// normalizeJSON returns a block with its keys in order.
func normalizeJSON(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	testrepo.Must(t, json.Unmarshal(raw, &v))
	out, err := json.Marshal(v)
	testrepo.Must(t, err)
	return string(out)
}

// Without a scenario a lean call finds nothing, and confirms a blocker. The caller's own
// block is not replaced. The rehearsal agent accepts all of these blocks.
func TestRehearsalAnswer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"review/round-1/tester": `"score":8`, "precheck/a": `"verdict":"go"`,
		"refute/1": `"refuted":false`, "review": `"score":8`, "counsel/debugger": "", "reviewer/x": "", "": ""} {
		got := string(rehearsalAnswer(runner.Question{Name: name}))
		if want == "" && got != "" || want != "" && !contains(t, got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got != "" {
			if _, err := rehearse.ParseBlock(json.RawMessage(got)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	own := AnswerBlock(map[string]any{"score": 1})
	if got := rehearsalAnswer(runner.Question{Name: "review/x", Rehearse: own}); string(got) != string(own) {
		t.Errorf("%s", got)
	}
	if got := AnswerBlock(func() {}); got != nil {
		t.Errorf("what is no data: %s", got)
	}
}

// contains reports whether a block is JSON whose answer has the member.
func contains(t *testing.T, block, member string) bool {
	t.Helper()
	var b struct {
		Structured map[string]any `json:"structured"`
	}
	testrepo.Must(t, json.Unmarshal([]byte(block), &b))
	for k, v := range b.Structured {
		if text, err := json.Marshal(map[string]any{k: v}); err == nil && string(text) == "{"+member+"}" {
			return true
		}
	}
	return false
}
