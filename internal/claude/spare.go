package claude

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/runner"
)

// This file starts the process of an attempt ahead of the attempt. A process of the CLI costs
// nothing before its first prompt (observed on claude 2.1.197 and 2.1.330), but needs 0.4 s of CPU
// to start.

// Spare is a process of the CLI that waits for the prompt of one attempt. Run starts it and the
// attempt takes it. Each is called at most once, from any goroutine.
type Spare struct {
	agent *Agent
	local *runner.Local
	req   runner.Request
	offer chan *conversation // receives the process, once
	ended chan struct{}      // closed when Run returns
}

// NewSpare returns a spare for the attempt of req that l will make. It does not use req.Prompt.
func (a *Agent) NewSpare(l *runner.Local, req runner.Request) *Spare {
	req.Prompt = ""
	return &Spare{agent: a, local: l, req: req, offer: make(chan *conversation), ended: make(chan struct{})}
}

// Run starts the process. It returns when the attempt has taken it, or when ctx has ended and the
// process is gone; cost is then the cost of the process in micro-dollars. If the process cannot be
// started, the attempt reports the error.
func (s *Spare) Run(ctx context.Context) (cost budget.USD, used bool) {
	defer close(s.ended)
	c := s.start()
	select {
	case s.offer <- c:
		return 0, true
	case <-ctx.Done():
		return c.discard(), false
	}
}

// start returns a conversation with a running process, or nil.
func (s *Spare) start() *conversation {
	req, err := s.local.PrepareTurn(s.req)
	if err != nil {
		return nil
	}
	c, err := (&turn{Agent: s.agent, req: req}).newConversation(false, "")
	if err != nil {
		return nil
	}
	if c.stderr, err = s.agent.CreateLog(c.logDir, loop.StderrFile); err != nil {
		return nil
	}
	c.startDigest = startFilesDigest(c.dir)
	if err := c.start(); err != nil {
		c.stderr.Close()
		return nil
	}
	return c
}

// claim gives an attempt the process of the spare if the attempt would start an equal one now. It
// ends a process that differs; lost is the cost of that process in micro-dollars.
func (s *Spare) claim(c *conversation) (ok bool, lost budget.USD) {
	if s == nil {
		return false, 0
	}
	select {
	case was := <-s.offer:
		if was == nil || !was.fits(c) {
			return false, was.discard()
		}
		c.p, c.stderr = was.p, was.stderr
		return true, 0
	case <-s.ended:
		return false, 0
	}
}

// fits reports whether the process of c is equal to the one that want would start.
func (c *conversation) fits(want *conversation) bool {
	select {
	case <-c.p.Done():
		return false
	default:
	}
	return slices.Equal(c.argv, want.argv) && slices.Equal(c.wrapper, want.wrapper) &&
		c.dir == want.dir && c.mark == want.mark &&
		slices.Equal(slices.Sorted(slices.Values(c.env)), slices.Sorted(slices.Values(want.env))) &&
		c.startDigest == startFilesDigest(want.dir)
}

// discard ends a process that had no prompt and returns its cost in micro-dollars: 0, unless the
// process worked on a message from another agent.
func (c *conversation) discard() budget.USD {
	if c == nil {
		return 0
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_ = (&stream{onLine: c.transcript.onLine}).run(c.p.Stdout) // the unread rest has no price
	}()
	c.turns = make(chan turnEvent)
	c.close()
	if wait := c.stopWait(context.Canceled); !c.await(wait.Close, false) {
		c.terminate(wait.Terminate)
	}
	c.p.Wait()
	<-read
	c.stderr.Close()
	return c.transcript.bill(0).Cost
}

// startFiles are files of a project that the CLI reads when it starts (observed on claude
// 2.1.197 and 2.1.330).
var startFiles = []string{
	"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json", ".claude/CLAUDE.md", ".claude/settings.json",
	".claude/settings.local.json", ".claude/agents", ".claude/commands", ".claude/skills", ".claude/rules",
	".claude/output-styles",
}

// startFilesDigest identifies the content of the project files that a process reads when it starts in
// dir now.
func startFilesDigest(dir string) string {
	var all []string
	for {
		for _, f := range startFiles {
			all = append(all, runner.FileDigest(dir, f))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return strings.Join(all, "\x00")
		}
		dir = up
	}
}
