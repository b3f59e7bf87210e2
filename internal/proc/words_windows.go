package proc

// Words is unix's: cmd.exe has rules of its own for every line.
func Words(string) (argv []string, ok bool) { return nil, false }
