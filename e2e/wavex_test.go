//go:build unix

package e2e

// This file runs the wavex binary in a scratch repository. It knows its command line and its
// NDJSON events, as a user's own script would.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	_ "wavex/cmd" // go test must not serve a cached result when only wavex itself changed
	"wavex/internal/fakeapi"
)

// repo is a scratch project directory.
type repo struct {
	t   *testing.T
	dir string
	cli cli
}

// newRepo unpacks a txtar archive into a fresh directory.
func newRepo(t *testing.T, archive string) repo {
	t.Helper()
	r := repo{t, t.TempDir(), shared.cli}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		r.write(f.Name, string(f.Data))
	}
	return r
}

// on returns the repository with another CLI for its wavex.
func (r repo) on(c cli) repo {
	r.cli = c
	return r
}

func (r repo) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// wavexRun is a running wavex.
type wavexRun struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan error
	release        func() // releases the room of the CLI processes; called by end
}

// wavexEnd is a wavex that has ended.
type wavexEnd struct {
	exit           int
	stdout, stderr string
}

// wavex starts the binary in the repository against srv. It takes the room of several CLI processes.
func (r repo) wavex(srv *fakeapi.Server, args ...string) *wavexRun {
	r.t.Helper()
	return r.wavexEnv(Env(r.t, srv), args...)
}

// wavexEnv disables reviews in a run that does not ask for them, because each is several calls of
// the CLI, and scripts would have to answer them all.
func (r repo) wavexEnv(env []string, args ...string) *wavexRun {
	r.t.Helper()
	return r.wavexIn(reserveProcesses(r.t, runProcesses), env, args...)
}

// wavexIn starts it in room that the test holds already.
func (r repo) wavexIn(release func(), env []string, args ...string) *wavexRun {
	t := r.t
	t.Helper()
	if len(args) > 0 && args[0] == "run" && !slices.Contains(args, "--review") {
		args = append(slices.Clone(args), "--review", "off")
	}
	if shared.wavex == "" {
		t.Fatal("the wavex binary did not build; see the beginning of the output")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*testLimit)
	w := &wavexRun{t: t, cmd: exec.CommandContext(ctx, shared.wavex, args...), done: make(chan error, 1), release: release}
	w.cmd.Dir = r.dir
	w.cmd.Env = append(env, "WAVEX_CLAUDE="+r.cli.path)
	w.cmd.Stdout, w.cmd.Stderr = &w.stdout, &w.stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// SIGTERM, so that wavex stops its children; then it is killed.
	w.cmd.Cancel = func() error { return w.cmd.Process.Signal(syscall.SIGTERM) }
	w.cmd.WaitDelay = goneTime
	if err := w.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting wavex: %v", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.done <- w.cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		w.release()
	})
	return w
}

func (w *wavexRun) end() wavexEnd {
	w.t.Helper()
	err := <-w.done
	w.done <- err
	w.release()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("waiting for wavex: %v\n%s", err, w.stderr.String())
	}
	return wavexEnd{exit: w.cmd.ProcessState.ExitCode(), stdout: w.stdout.String(), stderr: w.stderr.String()}
}

// event is one line of --output json.
type event struct {
	Type       string          `json:"type"`
	Data       json.RawMessage `json:"data"`
	Status     string          `json:"status"`
	ExitCode   int             `json:"exit_code"`
	CostUSD    float64         `json:"cost_usd"`
	Iterations int             `json:"iterations"`
	Tasks      struct {
		Completed, Failed, Blocked, Pending int
	} `json:"tasks"`
}

// events returns the lines of --output json; the last one is run_ended.
func (e wavexEnd) events(t *testing.T) (all []event, last event) {
	t.Helper()
	all, last, err := readEvents(e.stdout)
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, e.stderr)
	}
	return all, last
}

// readEvents reads lines of events, from stdout or from the journal; the last one is run_ended.
func readEvents(text string) (all []event, last event, err error) {
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		last = event{}
		if err := json.Unmarshal([]byte(l), &last); err != nil {
			return nil, last, fmt.Errorf("line %q: %w", l, err)
		}
		all = append(all, last)
	}
	if last.Status == "" { // the journal does not repeat the verdict at the top
		if err := json.Unmarshal(last.Data, &last); err != nil {
			return nil, last, err
		}
	}
	if last.Type != "run_ended" {
		return nil, last, fmt.Errorf("the last event is %q", last.Type)
	}
	return all, last, nil
}
