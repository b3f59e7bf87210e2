package run_test

import (
	"errors"
	"testing"

	"wavex/internal/event"
	"wavex/internal/run"
)

// The core goes on with no run on workers, and says how to get the whole wavex.
func TestCoreOpensNoRunOnWorkers(t *testing.T) {
	t.Parallel()
	c := event.Config{Workers: event.Workers{Engine: "temporal://127.0.0.1:7233/default"}}
	if _, err := run.Open(t.Context(), run.Options{Config: c}); !errors.Is(err, run.ErrNoFleet) {
		t.Error(err)
	}
}
