package rehearse

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/testrepo"
)

// The orphan survives in a session of its own, with the environment marks of its attempt.
func TestProcessOrphan(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("WAVEX_ATTEMPT=orphan-test-%d", os.Getpid())
	p := spawn(t, `{"outcome":"orphan","duration":"0s","linger":"1m"}`, mark)
	_ = p.in.Close()
	code, e := p.finish() // to the end of the stream, which the orphan does not hold open
	want(t, "exit", code, 0)
	want(t, "is_error", e.result(t).IsError, false)
	pids := marked(t, mark)
	want(t, "orphans", len(pids), 1)
	for _, pid := range pids {
		sid, err := unix.Getsid(pid)
		testrepo.Must(t, err)
		want(t, "session", sid, pid)
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// An orphan that holds stdout keeps the stream open after the agent has exited.
func TestProcessOrphanHoldsStdout(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("WAVEX_ATTEMPT=orphan-stdout-test-%d", os.Getpid())
	r, w, err := os.Pipe()
	testrepo.Must(t, err)
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], streaming...)
	cmd.Env = []string{asAgent + "=1", mark, FileVar + "=" + assign(t, "T-001", 1,
		`{"outcome":"orphan-stdout","duration":"0s","linger":"1m"}`)}
	cmd.Stdin, cmd.Stdout, cmd.Dir = strings.NewReader(prompt), w, t.TempDir()
	testrepo.Must(t, cmd.Run())
	_ = w.Close()
	pids := marked(t, mark)
	want(t, "orphans", len(pids), 1)
	for _, pid := range pids {
		fd, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid))
		if err != nil || !strings.HasPrefix(fd, "pipe:") {
			t.Errorf("the orphan's stdout: %q, %v", fd, err)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	out, err := io.ReadAll(r) // ends when the orphan ends
	testrepo.Must(t, err)
	agentEnd{out: string(out)}.result(t)
}

func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	testrepo.Must(t, err)
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		testrepo.Must(t, err)
		pids = append(pids, pid)
	}
	return pids
}
