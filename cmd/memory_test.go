package cmd

import (
	"testing"
	"testing/fstest"
)

// A container of half a gigabyte on a machine of sixty-four has half a gigabyte.
func TestFreeMemory(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:       65536000 kB\nMemFree:        1000 kB\nMemAvailable:   40000000 kB\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known":   {nil, 0},
		"an odd machine":     {map[string]string{"proc/meminfo": "MemAvailable: lots\n"}, 0},
		"no bounds anywhere": {map[string]string{"proc/meminfo": machine}, 40000000 << 10},
		"an old kernel":      {map[string]string{"proc/meminfo": "MemTotal: 65536000 kB\n", "proc/self/cgroup": "0::/\n"}, 0},
		"a container": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/memory.current": "236870912\n",
			"sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 60000000\nactive_file 40000000\n"}, 400000000},
		"a service in a slice that has less left": {map[string]string{"proc/meminfo": machine,
			"proc/self/cgroup":                           "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max\n", "sys/fs/cgroup/a.slice/b.service/memory.current": "5\n",
			"sys/fs/cgroup/a.slice/memory.max": "1000\n", "sys/fs/cgroup/a.slice/memory.current": "400\n"}, 600},
		"a group that is full": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "2000\n"}, 1},
		"version 1, the host's path": {map[string]string{"proc/meminfo": machine,
			"proc/self/cgroup":                           "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "500000\n",
			"sys/fs/cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 100000\n"}, 1600000},
		"version 1 without a bound": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 40000000 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{}
			for path, text := range tc.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := freeMemoryIn(root); got != tc.want {
				t.Errorf("%d bytes, want %d", got, tc.want)
			}
		})
	}
}
