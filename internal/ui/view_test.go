package ui

import (
	"bytes"
	"flag"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runFunc is one of the stories of reporttest.
type runFunc func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun

var testRuns = map[string]runFunc{
	"mixed": reporttest.MixedRun, "complete": reporttest.CompleteRun, "paused": reporttest.PausedRun,
	"hostile":  reporttest.HostileRun,
	"reviewed": reporttest.ReviewedRun, "lists": reporttest.ListRun,
}

// buffer is a bytes.Buffer that is safe for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// viewOutput returns the output of a view for a story.
func viewOutput(t *testing.T, tell runFunc, open func(*buffer) View) string {
	t.Helper()
	var out buffer
	v := open(&out)
	tell(t, v.Event)
	testrepo.Must(t, v.Close())
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	reporttest.Golden(t, name, got, *update)
}

// The announcement has the known facts about the request and the reviews.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil).S
	s.Origin = &event.Origin{SpecScore: 8, FitScore: 45}
	s.Assessment.Reviews = []event.ReviewEnded{
		{Mode: counsel.Light, Wave: 1, Review: counsel.Review{Score: 7.5, Findings: make([]counsel.Finding, 1)}},
		{Mode: counsel.Light, Wave: 2, Review: counsel.Review{Error: "no answer"}},
		{Mode: counsel.Thorough, Round: 1, Blockers: 1},
		{Mode: counsel.Thorough, Round: 2, Review: counsel.Review{Error: "cut off"}},
		{Mode: counsel.Thorough, Round: 3, Blockers: 2},
	}
	var a Announcer
	want := []string{"[LOOP RESUME] Active loop detected", "Stage: complete | Spec: 8/10 | Fit: 45",
		"Progress: 2/2 tasks | Wave: 2",
		"Reviews: wave 1: 7.5/10, 1 issue; thorough: 2 blockers left", "Next: none"}
	if got := a.Lines(s); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Assessment.ExitSignal, s.Ended = false, nil
	got := a.Lines(s)
	if got[1] != "Stage: review | Spec: 8/10 | Fit: 45" || got[4] != "Next: verify the criteria" {
		t.Errorf("before the end: %q", got)
	}
}
