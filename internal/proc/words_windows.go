package proc

// Words returns false: cmd.exe has its own rules for every line.
func Words(string) (argv []string, ok bool) { return nil, false }
