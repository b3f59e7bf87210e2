package run

import (
	"testing"
	"testing/synctest"
	"time"
)

// An agent that waits for the API is reported once, and one whose response comes soon is not.
func TestOnlySlowAPIsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newAPIWaits()
		slow := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after) // virtual time of the synctest bubble
			synctest.Wait()
			if len(w.slow) != len(want) {
				t.Errorf("%d agents are reported, want %v", len(w.slow), want)
			}
			for _, task := range want {
				if got := <-w.slow; got != task {
					t.Errorf("%s is reported, want %s", got, task)
				}
			}
		}
		w.begin("fast")
		w.begin("slow")
		w.end("other")
		slow(spareDelay / 2)
		w.end("fast")
		slow(spareDelay/2, "slow")
		w.end("slow")
		w.begin("slow") // its retry
		slow(spareDelay / 2)
		w.begin("slow") // a retry counts from its own request
		slow(spareDelay / 2)
		slow(spareDelay/2, "slow")
		slow(time.Hour)
	})
}
