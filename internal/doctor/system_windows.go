package doctor

import "golang.org/x/sys/windows"

// freeDisk is what this user may still write below a path, in bytes.
func freeDisk(path string) (uint64, bool) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return 0, false
	}
	return free, true
}

// writable cannot be told on Windows without writing: access lists decide it.
func writable(string) bool { return true }
