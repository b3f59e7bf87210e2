//go:build unix

package e2e

// This file tests each way to stop a CLI: the processes that stay, and the cost that it reports.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/internal/fakeapi"
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

// waitTurn waits for the request after n replies.
func waitTurn(t *testing.T, srv *fakeapi.Server, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if _, err := srv.Wait(ctx, func(r *fakeapi.Request) bool { return r.Err() == nil && r.Turn() == n }); err != nil {
		t.Fatal(err)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	// An ending is "exit subtype" of the result line, "-" if there is none. If several are
	// listed, a race inside the CLI decides between them.
	const failed = "error_during_execution"
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		tool   bool // while a tool runs, or else while the API answers
		ends   []string
		lives  bool // the tool outlives the CLI
	}{
		{"SIGTERM, tool", syscall.SIGTERM, true, []string{"143 -"}, false},
		{"SIGINT, tool", syscall.SIGINT, true, []string{"0 -", "0 " + failed, "1 " + failed}, false},
		{"SIGKILL, tool", syscall.SIGKILL, true, []string{"137 -"}, true},
		{"SIGTERM, API", syscall.SIGTERM, false, []string{"143 -"}, false},
		{"SIGINT, API", syscall.SIGINT, false, []string{"0 -", "0 " + failed}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			life := newTool(t)
			gate := fakeapi.NewLatch()
			steps := []fakeapi.Reply{fakeapi.Text("held").WaitingFor(gate)}
			if c.tool {
				steps = []fakeapi.Reply{fakeapi.Use(fakeapi.Bash(life.command))}
			}
			after := fakeapi.Text("after the tool")
			srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: steps, Then: &after}}})
			p := startCLI(t, srv, setup{stdin: "go", args: anyTool})
			if c.tool {
				life.started(t)
			} else {
				waitTurn(t, srv, 0)
			}
			p.signal(c.signal)
			e := p.end()
			ends := "-"
			if rs := e.results(t); len(rs) > 0 {
				ends = rs[len(rs)-1].Subtype
			}
			if got := fmt.Sprintf("%d %s", e.exit, ends); !slices.Contains(c.ends, got) {
				t.Errorf("ended %q, want one of %q", got, c.ends)
			}
			if !c.tool {
				return
			}
			if c.lives {
				// The tool has its own session: a signal to the CLI's process group does not
				// reach it.
				group, err := syscall.Getpgid(life.pid)
				if err != nil || group == p.cmd.Process.Pid || life.dies(100*time.Millisecond) {
					t.Errorf("the tool died with the CLI (group %d, %v); it used to live on", group, err)
				}
				life.kill()
			}
			if !life.dies(toolTime) {
				t.Error("the tool is still alive")
			}
		})
	}
}

// After a SIGKILL the session resumes with the part of it that was written.
func TestResumeAfterKill(t *testing.T) {
	t.Parallel()
	eachCLI(t, resumeAfterKill)
}

func resumeAfterKill(t *testing.T, c cli) {
	life := newTool(t)
	srv := serve(t, fakeapi.Use(fakeapi.Bash(life.command)), fakeapi.Text("resumed"))
	env, dir := Env(t, srv), t.TempDir()
	p := startCLI(t, srv, setup{cli: c, stdin: "remember me", env: env, dir: dir,
		args: append([]string{"--session-id", session}, anyTool...)})
	life.started(t)
	transcribed(t, env, "remember me")
	p.signal(syscall.SIGKILL)
	p.end()
	e := call(t, srv, setup{cli: c, stdin: "go on", env: env, dir: dir, args: []string{"--resume", session}})
	if len(srv.Messages(nil)) < 2 {
		t.Fatalf("exit %d and no second request, stderr %q", e.exit, e.stderr)
	}
	if e.exit != 0 || !strings.Contains(srv.Messages(nil)[1].Users(), "remember me") {
		t.Errorf("exit %d, users %q, stderr %q", e.exit, srv.Messages(nil)[1].Users(), e.stderr)
	}
}

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

// A session that was killed before the first answer may not exist for a resume, because its
// transcript is written some time after the request is sent. The test removes any part that the
// CLI has written, so that it never exists.
func TestNoResumeBeforeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	eachCLI(t, noResumeBeforeTheFirstAnswer)
}

func noResumeBeforeTheFirstAnswer(t *testing.T, c cli) {
	srv := serve(t, fakeapi.Text("held").WaitingFor(fakeapi.NewLatch()))
	env, dir := Env(t, srv), t.TempDir()
	p := startCLI(t, srv, setup{cli: c, stdin: "remember me", env: env, dir: dir, args: []string{"--session-id", session}})
	waitTurn(t, srv, 0)
	p.signal(syscall.SIGKILL)
	p.end()
	for _, f := range transcripts(env) {
		testrepo.Must(t, os.Remove(f))
	}
	e := call(t, srv, setup{cli: c, stdin: "go on", env: env, dir: dir, args: []string{"--resume", session}})
	if e.exit != 1 || !strings.Contains(e.stderr+e.plain, "No conversation found") {
		t.Errorf("exit %d, stderr %q", e.exit, e.stderr)
	}
}
