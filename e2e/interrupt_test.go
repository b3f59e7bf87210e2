//go:build unix

package e2e

// This file has a tool that shows whether it is alive, and finds the transcripts of the CLI.

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

// tool is a Bash tool call that runs until it is killed, and reports its life through a FIFO: its
// pid at the start, end of file at its death.
type tool struct {
	command string
	fifo    string
	pid     int
	life    *os.File
}

func newTool(t *testing.T) *tool {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "life")
	testrepo.Must(t, syscall.Mkfifo(fifo, 0o600))
	return &tool{fifo: fifo, command: "exec 3>" + fifo + "; echo $$ >&3; sleep 300 & wait"}
}

// started waits for the tool's pid; the tool is killed with its group at the test's end.
func (l *tool) started(t *testing.T) {
	t.Helper()
	// Open for writing as well, so that there is no end of file before the tool has started.
	first, err := os.OpenFile(l.fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	testrepo.Must(t, err)
	defer func() { _ = first.Close() }()
	_ = first.SetReadDeadline(time.Now().Add(testLimit))
	buf := make([]byte, 32)
	n, err := first.Read(buf)
	if err != nil {
		t.Fatalf("the tool did not start: %v", err)
	}
	if l.pid, err = strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err != nil {
		t.Fatal(err)
	}
	if l.life, err = os.OpenFile(l.fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.kill()
		_ = l.life.Close()
	})
}

func (l *tool) kill() {
	if group, err := syscall.Getpgid(l.pid); err == nil {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// dies reports whether the tool and all its children end within d.
func (l *tool) dies(d time.Duration) bool {
	_ = l.life.SetReadDeadline(time.Now().Add(d))
	_, err := l.life.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

var anyTool = []string{"--allowedTools", "Bash"}

// transcribed waits until the CLI has written a text into its transcript, which happens some time
// after it has acted on it.
func transcribed(t *testing.T, env []string, text string) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for late := time.After(testLimit); ; {
		for _, f := range transcripts(env) {
			if data, _ := os.ReadFile(f); strings.Contains(string(data), text) && strings.Contains(string(data), `"tool_use"`) {
				return
			}
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("the transcript never held %q", text)
		}
	}
}

// transcripts returns the files of all sessions.
func transcripts(env []string) []string {
	config := ""
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok {
			config = dir
		}
	}
	files, _ := filepath.Glob(filepath.Join(config, "projects", "*", "*.jsonl"))
	return files
}
