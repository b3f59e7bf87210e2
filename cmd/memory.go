package cmd

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"wavex/internal/agent"
	"wavex/internal/plan"
)

// This file finds out how much memory wavex may use: the free memory of the machine, or less if a
// control group (a container, a service) has a lower limit (Linux only), and how many processes fit into it.

// FreeMemory returns the usable memory in bytes, or 0 if it is unknown.
func FreeMemory() int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	return freeMemoryIn(os.DirFS("/"))
}

// freeMemoryIn returns FreeMemory of the file system root.
func freeMemoryIn(root fs.FS) int64 {
	free := int64(math.MaxInt64)
	if kb, ok := readField(root, "proc/meminfo", "MemAvailable:"); ok && kb > 0 && kb < math.MaxInt64>>10 {
		free = kb << 10
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // a missing file means no group
	for line := range strings.Lines(string(groups)) {
		// Version 2 has 0::/path, version 1 has 4:memory:/path.
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(part) < 3:
		case part[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				free = min(free, cgroupFree(root, mount, part[2], "memory.max", "memory.current", ""))
			}
		case strings.Contains(","+part[1]+",", ",memory,"):
			free = min(free, cgroupFree(root, "sys/fs/cgroup/memory", part[2], "memory.limit_in_bytes",
				"memory.usage_in_bytes", "total_"))
		}
	}
	if free == math.MaxInt64 {
		return 0
	}
	return free
}

// cgroupFree returns the smallest amount of memory, in bytes and at least 1, that the group and its
// parents have left. Page cache, which can be read again, does not count as used; stat is the
// prefix of its names. In a container without a cgroup namespace the path is the host's and does
// not exist; there the mount is the container's group.
func cgroupFree(root fs.FS, mount, group, limit, used, stat string) int64 {
	least := int64(math.MaxInt64)
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		at := path.Join(mount, dir)
		// No limit is "max" or the largest number of pages.
		if most, ok := readField(root, path.Join(at, limit), ""); ok && most < math.MaxInt64>>1 {
			have, _ := readField(root, path.Join(at, used), "")
			for _, kind := range []string{"inactive_file", "active_file"} {
				again, _ := readField(root, path.Join(at, "memory.stat"), stat+kind)
				have -= again
			}
			least = min(least, max(1, most-max(0, have)))
		}
		if dir == "/" {
			return least
		}
	}
}

// readField returns the number after a word at the start of a line, or with "" the number that the file begins with.
func readField(root fs.FS, name, word string) (int64, bool) {
	text, _ := fs.ReadFile(root, name) // a missing file has no line
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if word == "" {
			f = append([]string{""}, f...)
		}
		if len(f) > 1 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// defaultParallel returns 4, or less if memory does not suffice: a CLI process takes about 200 MB
// (observed on claude 2.1.330), a tool's command as much again.
func defaultParallel(who string) int {
	free := FreeMemory()
	if who == agent.Rehearsal || free <= 0 {
		return plan.DefaultParallel
	}
	return int(min(plan.DefaultParallel, max(1, free/MemoryPerAttempt)))
}

// MemoryPerAttempt is the memory that one attempt is assumed to need, in bytes.
const MemoryPerAttempt = 400 << 20
