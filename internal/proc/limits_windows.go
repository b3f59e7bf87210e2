package proc

import "golang.org/x/sys/windows"

func openFiles() int64     { return 0 }
func userProcesses() int64 { return 0 }

// DiskFree returns the bytes that this user can still write below dir. The file system has no limit of files.
func DiskFree(dir string) (bytes, files uint64, known bool) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, false
	}
	if err := windows.GetDiskFreeSpaceEx(p, &bytes, nil, nil); err != nil {
		return 0, 0, false
	}
	return bytes, 1, true
}
