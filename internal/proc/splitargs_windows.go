package proc

// SplitArgs returns false: cmd.exe has its own rules for every line.
func SplitArgs(string) (argv []string, ok bool) { return nil, false }
