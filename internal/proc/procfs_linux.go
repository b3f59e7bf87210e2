package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// This file reads /proc. It decides nothing. It reports a process that is gone, or whose files
// may not be read, as missing or as unmarked, never as an error.

// ident identifies a process for good: a pid may be reused, but not within the tick (10 ms) in
// which its process started.
type ident struct {
	pid   int
	start uint64 // ticks since boot
}

// stat holds the fields of /proc/PID/stat.
type stat struct {
	ident
	ppid, pgrp, session int
	state               byte
	memoryless          bool // a kernel thread, or one in its exit: it has no environment, and will have none
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// cannotFork reports whether the process cannot fork: dead, stopped, or traced.
func (s stat) cannotFork() bool { return s.dead() || s.state == 'T' || s.state == 't' }

func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// readProcFile reads a file of /proc into buf, and grows buf if needed. It avoids os.File, whose poller
// and finalizer cost more than the read.
func readProcFile(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, max(4096, len(buf)))...)
		}
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case m == 0:
			return buf[:n], nil
		default:
			n += m
		}
	}
}

// readStat reads the state of one process.
func readStat(pid int) (stat, bool) {
	var room [1024]byte
	b, err := readProcFile(procPath(pid, "stat"), room[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, b)
}

// statFields returns the fields of a stat file after the command name: from the third on, as in
// proc(5). The name ends at the last ')', because it may contain blanks and brackets.
func statFields(b []byte) [][]byte { return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) }

// parseStat reads the state of one process from its stat file.
func parseStat(pid int, b []byte) (stat, bool) {
	f := statFields(b)
	if len(f) <= vsizeField || len(f[0]) != 1 || f[0][0] < 'A' || f[0][0] > 'z' {
		return stat{}, false // the state is a letter
	}
	s := stat{ident: ident{pid: pid}, state: f[0][0], memoryless: string(f[vsizeField]) == "0"}
	for i, to := range []*int{&s.ppid, &s.pgrp, &s.session} {
		n, err := strconv.Atoi(string(f[1+i]))
		if err != nil {
			return stat{}, false
		}
		*to = n
	}
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	s.start = start
	return s, err == nil
}

// readMarks reads the marks in the environment with which a process was started. read is false if the environment is
// empty but the process may still get one.
func readMarks(st stat) (run, attempt string, read bool) {
	if st.memoryless {
		return "", "", true
	}
	b, err := readProcFile(procPath(st.pid, "environ"), make([]byte, 16<<10))
	if bytes.Contains(b, []byte("WAVEX_")) {
		run, attempt = parseMarks(bytes.Split(b, []byte{0}))
	}
	return run, attempt, err != nil || len(b) > 0
}

// locksLimit returns a process's soft limit of file locks; 0: unlimited, or not readable.
func locksLimit(pid int) uint64 {
	b, err := readProcFile(procPath(pid, "limits"), make([]byte, 4096))
	_, rest, _ := bytes.Cut(b, []byte("Max file locks"))
	f := bytes.Fields(rest)
	if err != nil || len(f) == 0 {
		return 0
	}
	limit, _ := strconv.ParseUint(string(f[0]), 10, 64)
	return limit
}

// inExec reports whether a process is in the middle of an exec: it has its new memory but not
// yet its new environment, so its marks cannot be read. That takes microseconds, or milliseconds
// on a busy machine.
func inExec(pid int) bool {
	var room [1024]byte
	if b, err := readProcFile(procPath(pid, "environ"), room[:]); err != nil || len(b) > 0 {
		return false // not readable for this user, or complete
	}
	b, err := readProcFile(procPath(pid, "stat"), room[:])
	if err != nil {
		return false
	}
	f := statFields(b)
	return len(f) > envEndField && string(f[vsizeField]) != "0" && string(f[envEndField]) == "0"
}

// inExit reports whether a child is in the middle of its exit: it has no memory any more, so its
// marks cannot be read, and is not dead yet. (Kernel threads have no memory either, but they are
// no children.) That takes microseconds, or tens of milliseconds on a busy machine.
func inExit(pid int) bool {
	st, ok := readStat(pid)
	return ok && st.memoryless
}

// Indexes in the result of statFields.
const vsizeField, envEndField = 23 - 3, 51 - 3

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) []int {
	dir, err := os.Open(procPath(pid, "task"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1)
	var out []int
	for _, t := range threads {
		out = append(out, childrenOfThread(procPath(pid, "task/"+t+"/children"))...)
	}
	return out
}

// childrenOfThread reads one children file. It is exact unless a process in the list is reaped
// meanwhile; then entries may be missing.
func childrenOfThread(path string) []int {
	var room [256]byte // small, because every process that ends calls this from a fresh stack
	b, err := readProcFile(path, room[:])
	if err != nil {
		return nil
	}
	return parsePIDs(b)
}

// parsePIDs reads a list of pids.
func parsePIDs(b []byte) []int {
	if len(b) == 0 {
		return nil
	}
	var out []int
	for _, f := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// allPids returns the pids of all processes.
func allPids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out, err
}

// lastPid returns the pid that was assigned last, to a process or to a thread; 0 if the kernel
// does not tell.
func lastPid() int {
	var room [128]byte
	b, err := readProcFile("/proc/loadavg", room[:])
	f := bytes.Fields(b)
	if err != nil || len(f) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(string(f[4]))
	return n
}

// isProcess reports whether a pid that was not listed is a process and not a thread of one.
func isProcess(pid int) bool {
	var room [4096]byte
	b, err := readProcFile(procPath(pid, "status"), room[:])
	_, rest, found := bytes.Cut(b, []byte("\nTgid:"))
	f := bytes.Fields(rest)
	return err == nil && found && len(f) > 0 && string(f[0]) == strconv.Itoa(pid)
}

// bootTicks returns the present time in the unit of stat.start. USER_HZ is 100 on every
// architecture that Go supports.
func bootTicks() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return uint64(ts.Sec)*100 + uint64(ts.Nsec)/10_000_000
}
