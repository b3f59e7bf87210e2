package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"wavex/internal/agent"
	"wavex/internal/doctor"
	"wavex/internal/exhaustion"
	"wavex/internal/proc"
	"wavex/internal/remote/wire"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/internal/wall"
	"wavex/internal/worker"
)

// This file knows the machine of a worker: whether it can make attempts, how many, and when it must not.

// workerHost is the machine of a worker.
type workerHost struct {
	opts    workerOptions
	std     Stdio
	mark    string
	key     *wire.Key
	agent   agent.Agent
	wall    *wall.Wall
	cli     string // the version of the CLI; "": none
	login   string // its kind
	secrets *secret.Redactor
}

// look checks whether the machine can make attempts: the CLI and its login, git, the disk.
func (h *workerHost) look(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return usererr.Blocked(errors.New("git is not there; install it"))
	}
	if c := doctor.Disk(h.opts.dir); c.Status == doctor.Fail {
		return preflightError(c)
	}
	h.agent = agent.Agent{Name: h.opts.agent}
	if h.agent.IsRehearsal() {
		h.login = "rehearsal"
		return nil
	}
	found, err := findClaude(h.opts.claude)
	if err != nil {
		return usererr.Blocked(fmt.Errorf("the claude CLI %q %s", found, claudeProblem(err)))
	}
	h.agent.Argv, h.agent.Find = []string{found}, func() (string, error) { return findClaude(h.opts.claude) }
	env := proc.EnvironPass(os.Environ(), h.opts.pass, nil)
	p, err := checkCLI(ctx, &h.agent, env, h.std)
	if err != nil {
		return err
	}
	h.cli = p.Version.String()
	login := doctor.Login(env, runtime.GOOS == "darwin")
	if login.Status != doctor.OK && doctor.LoggedOut(ctx, h.agent.Argv, env, h.opts.dir, answerTimeout) {
		return preflightError(login)
	}
	h.login = doctor.LoginKind(env)
	h.wall, _ = wall.Try(ctx, h.opts.dir, env) // without one only the changes of an attempt are looked at
	return nil
}

// defaultSlots returns the number of attempts for which a machine has memory, at most four for each processor.
func defaultSlots(free int64, processors int) int {
	if free <= 0 {
		return processors
	}
	return int(max(1, min(free/memoryPerAttempt, int64(4*processors))))
}

// Limits below which a worker takes no attempts, in bytes.
const (
	workerMemory = 500 << 20
	workerDisk   = 1 << 30
)

// full says why this machine must not take attempts now.
func (h *workerHost) full() string {
	if free := freeMemory(); free > 0 && free < workerMemory {
		return exhaustion.Size(uint64(free)) + " of memory free, less than " + exhaustion.Size(workerMemory)
	}
	if free, _, known := exhaustion.DiskFree(h.opts.dir); known && free < workerDisk {
		return exhaustion.Size(free) + " free in " + h.opts.dir + ", less than " + exhaustion.Size(workerDisk)
	}
	return ""
}

// say shows an event of the worker.
func (h *workerHost) say(e worker.Event) {
	e.Text = h.secrets.String(textfmt.Line(e.Text))
	if h.opts.output == "json" {
		if e.Time.IsZero() {
			e.Time = time.Now().UTC().Truncate(time.Millisecond)
		}
		_ = json.NewEncoder(h.std.Out).Encode(e) // attempts go on without a reader
		return
	}
	line := cmp.Or(e.Text, e.Type)
	if e.ID != "" {
		line = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Type, e.ID, e.Outcome, e.Text))
	}
	fmt.Fprintf(h.std.Err, "%s wavex worker: %s\n", time.Now().UTC().Format(time.RFC3339), line)
}
