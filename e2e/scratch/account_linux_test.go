package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// A kill may cut a write of the stream off at any byte. The account accepts the cost that a resume counts for a torn
// line, which is no less than that of the whole lines.
func TestTornStream(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"type":"control_response","response":{"subtype":"success","request_id":"wavex-policy","response":{}}}`,
		`{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-4-8","wavex_rehearsal":true}`,
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","model":"claude-opus-4-8",` +
			`"usage":{"input_tokens":800,"output_tokens":1}}},"session_id":"s","parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"id":"m1","model":"claude-opus-4-8","content":[{"type":"text","text":"x"}],` +
			`"usage":{"input_tokens":800,"output_tokens":1}},"session_id":"s","parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":40}},"session_id":"s",` +
			`"parent_tool_use_id":null}`,
		`{"type":"result","subtype":"success","num_turns":1,"result":"x","session_id":"s","total_cost_usd":0.005,` +
			`"usage":{"input_tokens":800,"output_tokens":40}}`,
	}
	text := strings.Join(lines, "\n") + "\n"
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	const limit = budget.USD(777_777)
	dir, whole := t.TempDir(), 0
	for cut := range len(text) + 1 {
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, loop.StreamFile), []byte(text[:cut]), 0o600))
		got, err := claude.RecoverCost(dir, prices, limit)
		testrepo.Must(t, err)
		cost, by := readStream(dir).accepts(got.Cost, got.Priced, limit, false)
		if got.Cost != cost || got.Priced != by {
			t.Errorf("after %d bytes a resume counts %s by %q, the account expects %s by %q", cut, got.Cost, got.Priced,
				cost, by)
		}
		if cut > 0 && text[cut-1] == '\n' || cut == len(text) {
			whole++
			if cost, by = readStream(dir).expected(); got.Cost != cost || got.Priced != by {
				t.Errorf("after %d bytes, whole lines, a resume counts %s by %q, not %s by %q", cut, got.Cost, got.Priced, cost, by)
			}
		}
	}
	if whole != len(lines) {
		t.Errorf("%d cuts at the ends of lines", whole)
	}
}
