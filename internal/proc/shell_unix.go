//go:build unix

package proc

// Shell returns the arguments that run a command line: /bin/sh -c on unix, cmd.exe
// /d /s /c on Windows.
func Shell(command string) []string { return []string{"/bin/sh", "-c", command} }
