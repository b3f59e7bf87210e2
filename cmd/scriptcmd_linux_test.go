package cmd_test

// Script commands for tests that need a person at a terminal.

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// terminal CODE ANSWERS PROGRAM ARGS... runs a program whose stdin and stderr are a terminal, types
// the lines of the file ANSWERS, and writes the terminal's output to tty.out. The input ends after
// the last line, so that an extra question gets no answer.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal CODE ANSWERS PROGRAM ARGS...")
	}
	master, slave := pty(ts)
	defer func() { _ = master.Close() }()
	path := args[2]
	if path == "wavex" {
		path = filepath.Join(ts.Getenv("BIN"), "wavex")
	}
	c := exec.Command(path, args[3:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "WAVEX_CLAUDE", "WAVEX_DATA"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	var out bytes.Buffer
	c.Stdin, c.Stderr, c.Stdout = slave, slave, &out
	_, err := master.WriteString(strings.TrimSuffix(ts.ReadFile(args[1]), "\n") + "\n\x04")
	ts.Check(err)
	ts.Check(c.Start())
	ts.Check(slave.Close())
	var shown bytes.Buffer
	_, _ = shown.ReadFrom(master) // ends with EIO once the other end is closed
	_ = c.Wait()                  // the exit code is checked below
	ts.Check(os.WriteFile(ts.MkAbs("tty.out"), bytes.ReplaceAll(shown.Bytes(), []byte("\r\n"), []byte("\n")), 0o600))
	ts.Logf("[terminal]\n%s", shown.String())
	wantCode(ts, args[0], c.ProcessState.ExitCode())
}

// seated NAME PROGRAM ARGS... starts a program with all three streams on a terminal of its own.
func seated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: seated NAME PROGRAM ARGS...")
	}
	p := program(ts, args[1:])
	master, slave := pty(ts)
	p.terminal = master
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	begin(ts, args[0], p, master)
	ts.Check(slave.Close())
}

// hangup NAME closes the terminal of a program.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup NAME")
	}
	p := named(ts, args[0])
	ts.Check(p.terminal.Close())
	<-p.ended // no copy of that end remains
}

// pty opens a pseudo-terminal pair.
func pty(ts *testscript.TestScript) (master, slave *os.File) {
	master, slave, err := openPTY()
	ts.Check(err)
	return master, slave
}

func openPTY() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	n := 0
	rc, err := master.SyscallConn() // after Fd, Close would not end a pending read
	if err == nil {
		cerr := rc.Control(func(fd uintptr) {
			if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
				n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			}
		})
		err = cmp.Or(err, cerr)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
	}
	return master, slave, err
}
