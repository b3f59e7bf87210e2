package doctor

import "golang.org/x/sys/windows"

// freeDisk returns the bytes that this user can still write below path.
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

// writable returns true: access lists decide it on Windows, so only writing would tell.
func writable(string) bool { return true }
