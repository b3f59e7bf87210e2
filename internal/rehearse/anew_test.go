package rehearse

import (
	"fmt"
	"strings"
	"testing"
)

// A process goes on with another session and another assignment: its costs add up, what it
// does is the new assignment's, and so are the variables of its tools.
func TestAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"duration":"0s","cost":0.01}`)
	next := assign(t, "T-002", 2, `{"duration":"0s","cost":0.02,"attempts":[{"outcome":"fail"},{"runs":["echo task $WAVEX_TASK"]}]}`)
	settings := func(path string) string {
		return fmt.Sprintf(`{"type":"control_request","request_id":"s","request":{"subtype":"apply_flag_settings","settings":{"env":{%q:%q,"WAVEX_TASK":"T-002"}}}}`+"\n", FileVar, path)
	}
	k := r.talk(append(streaming, "--session-id", "11111111-1111-4111-8111-111111111111")...)
	k.send(prompt)
	if l := k.until(`"result"`); !strings.Contains(l, `"total_cost_usd":0.01,`) {
		t.Error(l)
	}
	k.send(strings.ReplaceAll(prompt, "do it", "/clear"))
	if l := k.until(`"result"`); !strings.Contains(l, `"num_turns":0`) || strings.Contains(l, "11111111-") || !strings.Contains(l, `"total_cost_usd":0.01,`) {
		t.Errorf("after /clear: %s", l)
	}
	k.send(settings(assign(t, "T-003", 1, `{"outcome":"hang-at-start"}`)))
	if l := k.until("control_response"); !strings.Contains(l, "error") {
		t.Errorf("an assignment for the start of a process is taken: %s", l)
	}
	k.send(settings(next))
	if l := k.until("control_response"); !strings.Contains(l, "success") {
		t.Error(l)
	}
	k.send(prompt)
	k.until("task T-002")
	if l := k.until(`"type":"result"`); !strings.Contains(l, "T-002, attempt 2") || !strings.Contains(l, `"total_cost_usd":0.03,`) {
		t.Error(l)
	}
	if err := k.in.Close(); err != nil {
		t.Fatal(err)
	}
	if e := <-k.end; e.code != 0 {
		t.Errorf("%+v", e)
	}
}
