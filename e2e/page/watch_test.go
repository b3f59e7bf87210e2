//go:build unix

package page

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

// watchedRun makes a folder with a plan and two pipes, up and go, for its tasks. start starts wavex there; the end of
// the test ends it.
func watchedRun(t *testing.T, plan string) (dir string, start func(args ...string) (*exec.Cmd, *bufio.Reader)) {
	t.Helper()
	wavex, clean, err := rig.Wavex(t.Context())
	testrepo.Must(t, err)
	t.Cleanup(clean)
	dir = t.TempDir()
	testrepo.Must(t, errors.Join(os.WriteFile(filepath.Join(dir, "plan.json"), []byte(plan), 0o644),
		syscall.Mkfifo(filepath.Join(dir, "up"), 0o600), syscall.Mkfifo(filepath.Join(dir, "go"), 0o600)))
	return dir, func(args ...string) (*exec.Cmd, *bufio.Reader) {
		t.Helper()
		cmd := exec.Command(wavex, args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		testrepo.Must(t, err)
		t.Cleanup(func() {
			if cmd.ProcessState == nil {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_ = cmd.Wait()
			}
		})
		return cmd, bufio.NewReader(out)
	}
}

// The real program: a rehearsed run, and wavex watch --web beside it, in a browser, from the
// middle of the run to its end; then Ctrl-C.
func TestWatchWeb(t *testing.T) {
	t.Parallel()
	plan := `{"name": "watched", "tasks": [
	  {"id": "T-001", "subject": "Write it", "files": ["b"], "verify": ["test -e b"], "rehearse": {"duration": "0s", "writes": [{"path": "b", "content": "one\n"}], "runs": ["echo > up; cat go"]}},
	  {"id": "T-002", "command": "echo two", "blockedBy": "T-001"}]}`
	dir, start := watchedRun(t, plan)
	run, _ := start("run", "plan.json", "--agent", "rehearse")
	touch(t, filepath.Join(dir, "up"), os.O_RDONLY) // the agent is at work
	watch, out := start("watch", "--web")
	url, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("watch prints no address: %v", err)
	}
	url = strings.TrimSpace(url)

	p := launch(t).tab(1360, 1000, "light")
	p.open(url)
	p.until(`document.querySelector("#pulse").textContent === "live" && document.querySelector("h1").innerText.includes("Running: watched")`)
	p.until(`document.querySelector("#rows").innerText.includes("Bash echo")`)
	p.screenshot("watch-light")
	touch(t, filepath.Join(dir, "go"), os.O_WRONLY)
	p.until(`document.querySelector("h1").innerText.includes("Complete: watched")`)
	p.eval(`document.querySelector("#rows .open").click()`)
	p.until(`document.querySelector("#panel").textContent.includes("+one")`)
	if err := run.Wait(); err != nil {
		t.Errorf("the run: %v", err)
	}
	testrepo.Must(t, watch.Process.Signal(os.Interrupt))
	p.until(`document.querySelector("#pulse").textContent === "the server has ended"`)
	if err := watch.Wait(); err != nil {
		t.Errorf("watch ends with %v", err)
	}
	p.expectNoErrors(url)
}

// touch opens a FIFO, which waits for its other end, and closes it. A FIFO open for reading is
// first read to its end.
func touch(t *testing.T, path string, mode int) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(path, mode, 0)
		if err == nil && mode == os.O_RDONLY {
			_, err = io.ReadAll(f) // the writer must not meet a closed pipe
		}
		if err == nil {
			err = f.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		testrepo.Must(t, err)
	case <-time.After(patience):
		t.Fatalf("nobody opens %s", filepath.Base(path))
	}
}
