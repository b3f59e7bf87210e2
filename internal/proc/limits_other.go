//go:build !linux && !darwin && !windows

package proc

func openFiles() int64     { return 0 }
func userProcesses() int64 { return 0 }

// DiskFree returns false: the value is not known on this platform.
func DiskFree(string) (bytes, files uint64, known bool) { return 0, 0, false }
