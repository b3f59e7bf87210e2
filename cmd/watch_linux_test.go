package cmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"wavex/internal/testrepo"
)

// screen is a pseudo-terminal with everything that was written to it.
type screen struct {
	t     *testing.T
	outer *os.File

	mu    sync.Mutex
	said  strings.Builder
	spoke chan struct{} // closed, and replaced, on new output
}

// onTerminal starts wavex in dir on a terminal of the given size.
func onTerminal(t *testing.T, dir string, columns, rows uint16, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	outer, inner, err := openPTY()
	testrepo.Must(t, err)
	v := &screen{t: t, outer: outer, spoke: make(chan struct{})}
	v.resize(columns, rows)
	self, err := exec.LookPath("wavex")
	testrepo.Must(t, err)
	c := exec.Command(self, args...)
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm",
		"GORACE=atexit_sleep_ms=0"}
	c.Stdin, c.Stdout, c.Stderr = inner, inner, inner
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	testrepo.Must(t, c.Start())
	_ = inner.Close() // the child has its own copy
	over := make(chan struct{})
	go func() {
		defer close(over)
		v.listen()
	}()
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		_ = outer.Close()
		<-over
	})
	return v, c
}

func (v *screen) resize(columns, rows uint16) {
	v.t.Helper()
	if err := unix.IoctlSetWinsize(int(v.outer.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: columns, Row: rows}); err != nil {
		v.t.Fatal(err)
	}
}

// listen reads until the inner end is closed everywhere, which ends the read with an error.
func (v *screen) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := v.outer.Read(buf)
		v.mu.Lock()
		v.said.Write(buf[:n])
		close(v.spoke)
		v.spoke = make(chan struct{})
		v.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shows waits until fits accepts the text after position from, and returns the position of its end.
func (v *screen) shows(from int, fits func(string) bool) int {
	v.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		v.mu.Lock()
		said, spoke := v.said.String(), v.spoke
		v.mu.Unlock()
		if fits(said[from:]) {
			return len(said)
		}
		select {
		case <-spoke:
		case <-late.C:
			v.t.Fatalf("the terminal never shows it, but:\n%q", said[from:])
		}
	}
}

// wavex watch on a real terminal redraws, follows a resize within a second, and leaves the table
// when the run ends.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := `{"name": "watched-on-a-terminal", "tasks": [
	  {"id": "a", "subject": "A subject", "verify": ["test -e a"], "rehearse": {"duration": "0s", "runs": ["cat go; touch a"]}}]}`
	gate := filepath.Join(dir, "go")
	testrepo.Must(t, errors.Join(os.WriteFile(filepath.Join(dir, "plan.json"), []byte(plan), 0o644),
		syscall.Mkfifo(gate, 0o600)))
	run, running := onTerminal(t, dir, 100, 30, "run", "plan.json", "--agent", "rehearse", "--plain", "--yes")
	run.shows(0, func(s string) bool { return strings.Contains(s, "Iteration 1/") })
	watch, watching := onTerminal(t, dir, 100, 30, "watch")
	at := watch.shows(0, func(s string) bool {
		return strings.Contains(s, "  Bash cat go") && strings.Contains(s, "wave 1/1")
	})
	watch.resize(40, 10)
	watch.shows(at, func(s string) bool {
		i := strings.LastIndex(s, "\x1b[?2026h")                                                  // the last frame
		return i >= 0 && strings.Contains(s[i:], "A subject") && !strings.Contains(s[i:], "Bash") // no room for it
	})
	f, err := os.OpenFile(gate, os.O_WRONLY, 0) // the agent's cat is the other end
	if err == nil {
		err = f.Close()
	}
	testrepo.Must(t, err)
	if err := running.Wait(); err != nil {
		t.Errorf("the run: %v", err)
	}
	watch.shows(at, func(s string) bool { return strings.Contains(s, "complete: 1 of 1 task completed") })
	if err := watching.Wait(); err != nil {
		t.Errorf("watch: %v", err)
	}
}

func (v *screen) send(keys string) {
	v.t.Helper()
	if _, err := v.outer.WriteString(keys); err != nil {
		v.t.Fatal(err)
	}
}

// has returns a condition for shows.
func has(text string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, text) }
}

// gatedRun starts a run on a terminal whose only agent waits until the returned function is called.
func gatedRun(t *testing.T, args ...string) (dir string, v *screen, c *exec.Cmd, open func()) {
	t.Helper()
	dir = t.TempDir()
	plan := `{"name": "keys", "tasks": [
	  {"id": "a", "subject": "A subject", "verify": ["test -e a"], "rehearse": {"duration": "0s", "runs": ["cat go; touch a"]}},
	  {"id": "b", "subject": "Another", "blockedBy": ["a"], "verify": ["test -e b"], "rehearse": {"duration": "0s", "runs": ["touch b"]}}]}`
	gate := filepath.Join(dir, "go")
	testrepo.Must(t, errors.Join(os.WriteFile(filepath.Join(dir, "plan.json"), []byte(plan), 0o644),
		syscall.Mkfifo(gate, 0o600)))
	v, c = onTerminal(t, dir, 100, 30, append([]string{"run", "plan.json", "--agent", "rehearse", "--yes"}, args...)...)
	return dir, v, c, func() {
		f, err := os.OpenFile(gate, os.O_WRONLY, 0) // the agent's cat is the other end
		if err == nil {
			err = f.Close()
		}
		testrepo.Must(t, err)
	}
}

// exitCode waits for a program and returns its exit code.
func exitCode(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// Ctrl-C at a terminal drains, then interrupts.
func TestCtrlCOnATerminal(t *testing.T) {
	t.Parallel()
	_, v, run, _ := gatedRun(t)
	at := v.shows(0, has("  Bash cat go"))
	v.send("\x03")
	at = v.shows(at, has("may finish (again to interrupt"))
	v.send("\x03")
	v.shows(at, has("Continue with"))
	if code := exitCode(t, run); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// wavex watch leaves another process's run alone with Ctrl-C, and shows it until its end otherwise.
func TestWatchIsLeft(t *testing.T) {
	t.Parallel()
	dir, v, c, open := gatedRun(t, "--plain")
	v.shows(0, has("Iteration 1/"))
	first, leaving := onTerminal(t, dir, 100, 30, "watch")
	first.shows(0, has("  Bash cat go"))
	first.send("\x03")
	if code := exitCode(t, leaving); code != 0 {
		t.Errorf("Ctrl-C: exit code %d", code)
	}
	watch, watching := onTerminal(t, dir, 100, 30, "watch")
	at := watch.shows(0, has("  Bash cat go"))
	v.send("\x03")
	v.shows(0, has("nothing more is started"))
	open()
	watch.shows(at, has("Continue with: wavex resume"))
	if code := exitCode(t, c); code != 130 {
		t.Errorf("the run ends with %d", code)
	}
	if code := exitCode(t, watching); code != 0 {
		t.Errorf("watch ends with %d", code)
	}
}

// Tables are cut to the width of the terminal. Without a terminal, and for screen readers, they are
// not cut.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := `{"name": "narrow", "tasks": [{"id": "a", "subject": "A subject that fits on no such terminal", "verify": ["test -e x"], "rehearse": {"duration": "0s", "runs": ["touch x"]}}]}`
	testrepo.Must(t, os.WriteFile(filepath.Join(dir, "plan.json"), []byte(plan), 0o644))
	_, running := onTerminal(t, dir, 80, 30, "run", "plan.json", "--agent", "rehearse", "--plain", "--review", "off",
		"--yes")
	testrepo.Must(t, running.Wait())
	for _, c := range []struct {
		args []string
		cut  bool
	}{{[]string{"status"}, true}, {[]string{"report"}, true}, {[]string{"runs"}, true},
		{[]string{"status", "--plain"}, false}} {
		v, cmd := onTerminal(t, dir, 40, 30, c.args...)
		var text string
		v.shows(0, func(s string) bool {
			text = s
			return strings.Contains(s, "Time: ") || c.args[0] == "runs" && strings.Count(s, "\n") == 2
		})
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			if row := strings.HasPrefix(line, "a ") || strings.HasPrefix(line, "20"); row &&
				(utf8.RuneCountInString(line) <= 40) != c.cut {
				t.Errorf("%s: %q", c.args, line)
			}
		}
	}
}
