package gitwork

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wavex/internal/proc"
)

// This file keeps two git processes for a run, each of which answers many requests: one reads objects, and one changes
// refs. An attempt and its integration make about ten such requests, which would otherwise be a process each.

// maxLife is the time after which a process is started again for a request: in reflogs, git gives all changes the time
// of its first one.
const maxLife = 10 * time.Minute

// coprocess is a git process that reads requests and answers them one after the other. It starts with the first
// request. Its methods are safe for concurrent use.
type coprocess struct {
	args []string

	mu     sync.Mutex
	p      *proc.Process // nil: it does not run
	began  time.Time     // when it started
	out    *bufio.Reader
	stderr *proc.HeadBuffer
}

// coprocesses are those of one Manager.
type coprocesses struct {
	g             git // starts them
	objects, refs coprocess
	changed       func(ref, id string) // is told of each ref that was set, or with the id "" deleted
}

func newCoprocesses(g git, changed func(ref, id string)) *coprocesses {
	return &coprocesses{g: g, changed: changed,
		objects: coprocess{args: []string{"cat-file", "--batch"}},
		refs:    coprocess{args: []string{"update-ref", "--no-deref", "--stdin"}}}
}

// close ends the processes. They start again for a later request.
func (c *coprocesses) close() {
	for _, one := range []*coprocess{&c.objects, &c.refs} {
		one.mu.Lock()
		if one.p != nil {
			one.end()
		}
		one.mu.Unlock()
	}
}

// ask sends a request and calls read for the answer. Its errors are those of git.output. A git that is killed is
// started again, once, so a request must have the same effect if it is made twice.
func (c *coprocess) ask(ctx context.Context, g git, request string, read func(*bufio.Reader) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.p != nil && time.Since(c.began) > maxLife {
		c.end()
	}
	err := c.askOnce(ctx, g, request, read)
	var failed *gitError
	if errors.As(err, &failed) && failed.code < 0 {
		return c.askOnce(ctx, g, request, read)
	}
	return err
}

// askOnce is ask with one process. The caller must hold mu.
func (c *coprocess) askOnce(ctx context.Context, g git, request string, read func(*bufio.Reader) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.p == nil {
		stderr := &proc.HeadBuffer{Max: 1 << 20}
		p, err := g.start(c.args, true, stderr)
		if err != nil {
			return err
		}
		c.p, c.began = p, time.Now()
		c.out, c.stderr = bufio.NewReader(p.Stdout), stderr
	}
	p := c.p
	stop := context.AfterFunc(ctx, func() { p.Stop(killDelay) }) // asked to end, git removes its locks
	_, err := io.WriteString(c.p.Stdin, request)
	if err == nil {
		err = read(c.out)
	}
	if stop() && err == nil {
		return nil
	}
	exit := c.end()
	switch {
	case err == nil: // the whole answer came before ctx ended
		return nil
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case exit.Code == 0:
		return fmt.Errorf("git %s: %w", c.args[0], err)
	}
	return g.failure(c.args, exit, c.stderr.String(), "")
}

// end ends the process. The caller must hold mu.
func (c *coprocess) end() proc.Exit {
	_ = c.p.Stdin.Close()
	exit := c.p.Wait()
	c.p = nil
	return exit
}

// object is an object of the repository. content is empty for blobs.
type object struct{ id, kind, content string }

// readObjects returns the objects with these names, which are full names of refs or ids. One that does not exist is
// the zero object.
func (g git) readObjects(ctx context.Context, names ...string) ([]object, error) {
	all := make([]object, len(names))
	if g.co == nil {
		out, err := g.outputOf(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch")
		r := bufio.NewReader(strings.NewReader(out + "\n"))
		for i := 0; i < len(all) && err == nil; i++ {
			all[i], err = readObject(r)
		}
		return all, err
	}
	for i, name := range names {
		err := g.co.objects.ask(ctx, g.co.g, name+"\n", func(r *bufio.Reader) (err error) {
			all[i], err = readObject(r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readObject reads an answer of git cat-file --batch: "ID KIND SIZE", and the content, or "NAME missing".
func readObject(r *bufio.Reader) (object, error) {
	head, err := r.ReadString('\n')
	facts := strings.Fields(head)
	if err != nil || len(facts) != 3 || !isObjectID(facts[0]) {
		return object{}, err
	}
	o := object{id: facts[0], kind: facts[1]}
	size, err := strconv.ParseInt(facts[2], 10, 64)
	if err != nil {
		return object{}, err
	}
	var content strings.Builder
	if o.kind == "blob" {
		_, err = io.CopyN(io.Discard, r, size)
	} else {
		_, err = io.CopyN(&content, r, size)
	}
	if err == nil {
		_, err = r.Discard(1) // a line break
	}
	o.content = content.String()
	return o, err
}

// refIDs returns the ids of those of the refs that exist, by their full names.
func (g git) refIDs(ctx context.Context, names ...string) (map[string]string, error) {
	all, err := g.readObjects(ctx, names...)
	ids := map[string]string{}
	for i, o := range all {
		if o.id != "" {
			ids[names[i]] = o.id
		}
	}
	return ids, err
}

// refTransaction executes commands of git update-ref --stdin, all or none. Without commands it does nothing.
func (g git) refTransaction(ctx context.Context, commands ...string) error {
	if len(commands) == 0 {
		return nil
	}
	lines := strings.Join(commands, "\n") + "\n"
	ofWorktree := func(command string) bool { // as HEAD, which the worktree of the coprocess does not share
		_, rest, _ := strings.Cut(command, " ")
		return !strings.HasPrefix(rest, "refs/") && !strings.HasPrefix(rest, "worktrees/")
	}
	if g.co == nil || slices.ContainsFunc(commands, ofWorktree) {
		_, err := g.outputOf(ctx, lines, "update-ref", "--no-deref", "--stdin")
		return err
	}
	err := retryLocked(ctx, func() error {
		return g.co.refs.ask(ctx, g.co.g, "start\n"+lines+"commit\n", func(r *bufio.Reader) error {
			for _, want := range []string{"start: ok", "commit: ok"} {
				if got, err := r.ReadString('\n'); err != nil || strings.TrimRight(got, "\r\n") != want {
					return errors.Join(err, fmt.Errorf("it answers %q in the place of %q", got, want))
				}
			}
			return nil
		})
	})
	for _, command := range commands {
		if f := strings.Fields(command); err == nil && f[0] == "update" {
			g.co.changed(f[1], f[2])
		} else if err == nil && f[0] == "delete" {
			g.co.changed(f[1], "")
		}
	}
	return err
}
