package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wavex/internal/exhaustion"
)

// This file limits memory by control groups: one for the run, and in it one for each process, with all
// its descendants. Version 1 of control groups still has the memory controller on some machines.

// memoryGroup is the group of a run that limits memory.
type memoryGroup struct {
	dir    string
	v1     bool
	limits MemoryLimits
	leaves atomic.Int64
}

// The files of version 2 and of version 1.
var (
	limitFiles = map[bool]string{false: "memory.max", true: "memory.limit_in_bytes"}
	swapFiles  = map[bool]string{false: "memory.swap.max", true: "memory.swappiness"}
	eventFiles = map[bool]string{false: "memory.events", true: "memory.oom_control"}
)

// limitMemory makes the group that limits memory, and has every later Start fork into a group in it. It
// must be called before other processes are started.
func (e *Cgroup) limitMemory(l MemoryLimits) error {
	for _, dir := range append([]string{e.dir}, e.others...) {
		m := &memoryGroup{dir: dir, limits: l}
		base := filepath.Dir(dir)
		_, err := os.Stat(filepath.Join(base, limitFiles[true]))
		if m.v1 = err == nil; !m.v1 && !delegateMemory(base) || unix.Access(filepath.Join(base, "cgroup.procs"),
			unix.W_OK) != nil {
			continue
		}
		if os.Mkdir(dir, 0o755) != nil && dir != e.dir {
			continue
		}
		if m.setLimit(dir, l.Run) == nil && (m.v1 || delegateMemory(dir)) {
			e.memory.Store(m)
			return nil
		}
		if dir != e.dir {
			_ = os.Remove(dir)
		}
	}
	return ErrUnsupported
}

// delegateMemory gives the groups in dir the memory controller, and reports whether they have it. The
// kernel refuses it for a group that has processes itself, unless it is the root.
func delegateMemory(dir string) bool {
	file := filepath.Join(dir, "cgroup.subtree_control")
	_ = os.WriteFile(file, []byte("+memory"), 0) // the file tells
	b, _ := os.ReadFile(file)
	return slices.ContainsFunc(bytes.Fields(b), func(f []byte) bool { return string(f) == "memory" })
}

// setLimit limits the memory of a group, without swap, in bytes; 0: no limit.
func (m *memoryGroup) setLimit(dir string, limit int64) error {
	if limit == 0 {
		return nil
	}
	err := os.WriteFile(filepath.Join(dir, limitFiles[m.v1]), strconv.AppendInt(nil, limit, 10), 0)
	_ = os.WriteFile(filepath.Join(dir, swapFiles[m.v1]), []byte("0"), 0) // a kernel without swap has no such file
	return err
}

// leaf is the group of one process.
type leaf struct {
	*memoryGroup
	dir   string
	limit int64    // bytes; 0: only that of the run
	fd    *os.File // of version 2; processes are forked into it
}

// newLeaf makes the group of a process. Only an attempt's has a limit of its own.
func (m *memoryGroup) newLeaf(attempt bool) (*leaf, error) {
	l := &leaf{memoryGroup: m, dir: filepath.Join(m.dir, strconv.FormatInt(m.leaves.Add(1), 10))}
	err := os.Mkdir(l.dir, 0o755)
	if attempt && err == nil {
		l.limit = m.limits.Attempt
		err = m.setLimit(l.dir, l.limit)
	}
	if err == nil && !m.v1 {
		l.fd, err = os.OpenFile(l.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		_ = os.Remove(l.dir)
		return nil, fmt.Errorf("limiting its memory: %w", err)
	}
	return l, nil
}

// within calls f, which forks, with this thread in the group of version 1: a child begins in the group
// of the thread that forks it. The memory of wavex stays where it is.
func (l *leaf) within(f func() error) error {
	if l == nil || !l.v1 {
		return f()
	}
	enter := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "tasks"), strconv.AppendInt(nil, int64(unix.Gettid()), 10), 0)
	}
	if err := enter(l.dir); err != nil {
		return fmt.Errorf("limiting its memory: %w", err)
	}
	err := f()
	_ = enter(filepath.Dir(filepath.Dir(l.dir))) // else it goes when it forks the next process
	return err
}

// remove removes the group of a process that has ended, and returns the limit that it reached, or "".
// A group that still has processes is removed with that of the run.
func (l *leaf) remove() string {
	if l == nil {
		return ""
	}
	reached := ""
	switch {
	case l.kills(l.dir) == 0:
	case l.limit > 0 && l.full(l.dir):
		reached = exhaustion.Memory(l.limit, "attempt-memory").String()
	case l.limits.Run > 0 && l.full(l.memoryGroup.dir):
		reached = exhaustion.Memory(l.limits.Run, "run-memory").String()
	default:
		reached = exhaustion.Memory(0, "").String()
	}
	if l.fd != nil {
		_ = l.fd.Close()
	}
	_ = os.Remove(l.dir)
	return reached
}

// kills returns how many processes of a group the kernel killed for lack of memory.
func (m *memoryGroup) kills(dir string) int64 {
	return counter(filepath.Join(dir, eventFiles[m.v1]), "oom_kill")
}

// full reports whether a group has reached its own limit. In version 2 the events of the run's group have those
// of the groups below it, too.
func (m *memoryGroup) full(dir string) bool {
	if m.v1 {
		b, _ := os.ReadFile(filepath.Join(dir, "memory.failcnt"))
		return len(b) > 0 && b[0] != '0'
	}
	file := eventFiles[false]
	if dir == m.dir {
		file += ".local"
	}
	return counter(filepath.Join(dir, file), "oom") > 0
}

// machineKills returns how many processes of the machine the kernel has killed for lack of memory.
func machineKills() int64 { return counter("/proc/vmstat", "oom_kill") }

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

// killedForMemory returns the limit that may be behind a SIGKILL that no process of wavex sent: the kernel
// has killed a process of this machine for lack of memory since shortly before the launch. A leaf knows its own kills.
func (p *platform) killedForMemory() string {
	if p.leaf != nil || machineKills() <= p.kills {
		return ""
	}
	l := exhaustion.Memory(0, "")
	l.Reached = "the kernel may have killed it for lack of memory"
	return l.String()
}

// counter returns the number behind a word at the beginning of a line, or 0.
func counter(file, word string) int64 {
	b, _ := os.ReadFile(file)
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == word {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64) // the kernel writes numbers
			return n
		}
	}
	return 0
}
