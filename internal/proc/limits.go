package proc

// This file names the limit behind an error of the system: open files, processes, memory, disk, ports. Each sentence
// has the limit, its value, and what to raise. It knows the errors of the system, and no caller.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Limit is a limit of the machine that was reached.
type Limit struct {
	Reached string // the limit and its value
	Remedy  string // what to raise or to free
}

func (l Limit) String() string { return l.Reached + "; " + l.Remedy }

// ErrorText returns the text of err, with its limit if it has one that the text does not name.
func ErrorText(err error) string {
	text := err.Error()
	if l, ok := LimitOf(err); ok && !strings.Contains(text, l.Remedy) {
		text += ": " + l.String()
	}
	return text
}

// LimitOf returns the limit behind err.
func LimitOf(err error) (Limit, bool) {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return Limit{}, false
	}
	switch code {
	case syscall.EMFILE:
		return files(), true
	case syscall.ENFILE:
		return Limit{"the machine may open" + count(number("/proc/sys/fs/file-max")) + " files",
			"raise fs.file-max (sysctl)"}, true
	case syscall.ENOMEM:
		return Limit{"the machine has no memory left", "run fewer attempts at once (-j)"}, true
	case syscall.ENOSPC, syscall.EDQUOT:
		return diskOf(err, code), true
	case syscall.EADDRINUSE:
		return Limit{"the port is in use", "end the program that has it, or choose another port"}, true
	case syscall.EADDRNOTAVAIL:
		return Limit{"no port is free" + words("/proc/sys/net/ipv4/ip_local_port_range"),
			"raise net.ipv4.ip_local_port_range (sysctl)"}, true
	}
	var forked *fs.PathError // other calls have these codes too
	if !errors.As(err, &forked) || forked.Op != "fork/exec" {
		return Limit{}, false
	}
	switch code {
	case syscall.EAGAIN:
		return processes(), true
	case syscall.EBADF: // the child moves its files to numbers that the limit may not allow
		return files(), true
	}
	return Limit{}, false
}

// diskOf returns the limit of the disk that err is about.
func diskOf(err error, code syscall.Errno) Limit {
	var path *fs.PathError
	on := "the disk"
	if errors.As(err, &path) {
		on = "the disk of " + path.Path
		if l, full := DiskLimit(filepath.Dir(path.Path)); full && code == syscall.ENOSPC {
			return l
		}
	}
	if code == syscall.EDQUOT {
		return Limit{"the quota on " + on + " is used up", "free some space there, or raise the quota"}
	}
	return Limit{on + " is full", "free some space there"}
}

// minFree is the space below which a disk counts as full, in bytes: programs fail before the last block.
const minFree = 64 << 10

// DiskLimit returns the limit of the disk of a directory if it is full.
func DiskLimit(dir string) (Limit, bool) {
	free, files, known := DiskFree(dir)
	switch {
	case !known:
		return Limit{}, false
	case free < minFree:
		return Limit{fmt.Sprintf("the disk of %s is full (%d KB free)", dir, free>>10), "free some space there"}, true
	case files == 0:
		return Limit{"the disk of " + dir + " has no inodes left", "remove some files there"}, true
	}
	return Limit{}, false
}

// MemoryLimit returns the limit of a process that the kernel may have killed for lack of memory.
func MemoryLimit() Limit {
	return Limit{"the kernel may have killed it for lack of memory", "run fewer attempts at once (-j)"}
}

// FormatSize returns a number of bytes for people, as tenths of a GB or, if it is smaller, as whole MB or KB.
func FormatSize(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20 || n == 0:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

// files returns the limit of open files.
func files() Limit {
	return Limit{"wavex may open" + count(openFiles()) + " files", "raise ulimit -n (hard: ulimit -Hn)"}
}

// processes returns the limit of processes: that of the control group if it is the lower one, or that
// of the user.
func processes() Limit {
	const remedy = ", or run fewer attempts at once (-j)"
	user, group := userProcesses(), groupProcesses()
	if group > 0 && (user <= 0 || group <= user) {
		return Limit{"the control group may have" + count(group) + " processes", "raise its pids.max" + remedy}
	}
	return Limit{"the user may have" + count(user) + " processes", "raise ulimit -u" + remedy}
}

// groupProcesses returns the least limit of processes of the control groups of this process, or 0.
func groupProcesses() (least int64) {
	groups, _ := os.ReadFile("/proc/self/cgroup") // only Linux has it
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 || part[1] != "" && part[1] != "pids" {
			continue
		}
		for dir := part[2]; ; dir = filepath.Dir(dir) {
			for _, mount := range []string{"", "unified", "pids"} {
				n := number(filepath.Join("/sys/fs/cgroup", mount, dir, "pids.max"))
				if n > 0 && (least == 0 || n < least) {
					least = n
				}
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return least
}

// number returns the number in a file, or 0.
func number(file string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(words(file)), 10, 64) // "max" has no number
	return n
}

// words returns the words of a file, each behind a blank; "" if it cannot be read.
func words(file string) (out string) {
	b, _ := os.ReadFile(file) // the value is not known
	for _, w := range strings.Fields(string(b)) {
		out += " " + w
	}
	return out
}

// count returns a number behind a blank, or " no more" if it is not known.
func count(n int64) string {
	if n <= 0 {
		return " no more"
	}
	return " " + strconv.FormatInt(n, 10)
}
