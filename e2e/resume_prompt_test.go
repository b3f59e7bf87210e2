//go:build unix

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/runner"
)

// A retry in the same session has a new process, and its own system prompt, because the plan may
// have changed in between. The CLI keeps the system prompt in the session.
func TestResumedSessionTakesTheNewSystemPrompt(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Text("one").WithUsage(use), fakeapi.Text("two").WithUsage(use))
	b := newFixture(t, srv)
	b.req.Settings.AppendSystemPrompt = "Speak of apples."
	first := b.attempt(t.Context())
	if first.Outcome != runner.Done {
		t.Fatalf("%+v", first)
	}
	b.req.Attempt, b.req.Resume, b.req.LogDir = 2, true, filepath.Join(b.req.LogDir, "2")
	b.req.Settings.AppendSystemPrompt = "Speak of pears."
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.SessionReplaced {
		t.Fatalf("%+v", r)
	}
	asked := srv.Messages(nil)
	if len(asked) != 2 || asked[1].Turn() != 1 || asked[0].Session() != asked[1].Session() {
		t.Fatalf("%d requests, turn %d", len(asked), asked[len(asked)-1].Turn())
	}
	if text := asked[1].System(); !strings.Contains(text, "pears") || strings.Contains(text, "apples") {
		t.Errorf("the resumed session has the system prompt of before: ...%s", text[max(0, len(text)-300):])
	}
}
