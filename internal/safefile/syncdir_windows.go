package safefile

// SyncDir does nothing: Windows cannot flush a folder, and its file systems journal names
// themselves.
func SyncDir(string) error { return nil }
