package proc

import (
	"testing"
	"time"
)

// TestMemoryKills shows that kills from before the start of a process are not taken for its end.
func TestMemoryKills(t *testing.T) {
	t.Parallel()
	before := machineKills()
	for at, want := range map[time.Time]int64{
		{}: before, time.Now().Add(-time.Minute): before, time.Now().Add(time.Hour): -1,
	} {
		if k := (killSample{at: at, seen: -1}); k.recent() != want && machineKills() == before {
			t.Errorf("sampled at %s: %d kills instead of %d", at, k.seen, want)
		}
	}
	p := start(t, Spec{Argv: []string{"/bin/sh", "-c", "exit 137"}})
	if after := machineKills(); p.kills > after || p.kills < before && after == before {
		t.Errorf("%d kills at the launch, between %d and %d", p.kills, before, after)
	}
	if e := p.Wait(); machineKills() == before && e.Exhausted != "" {
		t.Error(e.Exhausted)
	}
	const want = "the kernel may have killed it for lack of memory; run fewer attempts at once (-j)"
	if got := (&platform{kills: before - 1}).killedForMemory(); got != want {
		t.Error(got)
	}
}
