package proc

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// This file finds out whether the kernel may have killed a process for lack of memory.

// machineKills returns how many processes of the machine the kernel has killed for lack of memory, or 0 if the kernel
// does not count them.
func machineKills() int64 {
	b, _ := os.ReadFile("/proc/vmstat")
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == "oom_kill" {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64) // the kernel writes numbers
			return n
		}
	}
	return 0
}

// killSample is a count of machineKills. A read of /proc/vmstat takes as long as the start of a small
// program, so launches within a tenth of a second share one.
type killSample struct {
	mu   sync.Mutex
	at   time.Time
	seen int64
}

// recent returns the count as it was at most a tenth of a second ago.
func (k *killSample) recent() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); k.at.IsZero() || now.Sub(k.at) > 100*time.Millisecond {
		k.at, k.seen = now, machineKills()
	}
	return k.seen
}

// killedForMemory returns the reason that may be behind a SIGKILL that no process of wavex sent: the kernel
// has killed a process of this machine for lack of memory since shortly before the launch.
func (p *platform) killedForMemory() string {
	if machineKills() <= p.kills {
		return ""
	}
	return MemoryLimit().String()
}
