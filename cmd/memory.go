package cmd

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// This file tells how much memory may be used: what the machine has free, or less where a
// control group (a container, a service) may not have all of it. Linux only.

// freeMemory is that in bytes; 0 where unknown.
func freeMemory() int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	return freeIn(os.DirFS("/"))
}

// freeIn is freeMemory of a file system.
func freeIn(root fs.FS) int64 {
	free := int64(math.MaxInt64)
	if kb, ok := field(root, "proc/meminfo", "MemAvailable:"); ok && kb > 0 && kb < math.MaxInt64>>10 {
		free = kb << 10
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // not there: no group
	for line := range strings.Lines(string(groups)) {
		// 0::/path in version 2, 4:memory:/path in version 1.
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(part) < 3:
		case part[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				free = min(free, left(root, mount, part[2], "memory.max", "memory.current", ""))
			}
		case strings.Contains(","+part[1]+",", ",memory,"):
			free = min(free, left(root, "sys/fs/cgroup/memory", part[2], "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
		}
	}
	if free == math.MaxInt64 {
		return 0
	}
	return free
}

// left is the least that a group and those around it have left, at least 1. What they have
// of files, which can be read again, is not counted as used; stat is what precedes the names
// of that. In a container without a namespace of its own for groups the path is the host's
// and leads nowhere; the mount is the container's group then.
func left(root fs.FS, mount, group, limit, used, stat string) int64 {
	least := int64(math.MaxInt64)
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		at := path.Join(mount, dir)
		if most, ok := number(root, path.Join(at, limit)); ok && most < math.MaxInt64>>1 { // no limit: "max", or the largest number of pages
			have, _ := number(root, path.Join(at, used))
			for _, kind := range []string{"inactive_file", "active_file"} {
				again, _ := field(root, path.Join(at, "memory.stat"), stat+kind)
				have -= again
			}
			least = min(least, max(1, most-max(0, have)))
		}
		if dir == "/" {
			return least
		}
	}
}

// number is what a file of one number says.
func number(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}

// field is the number after a word at the beginning of a line.
func field(root fs.FS, name, word string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 1 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
