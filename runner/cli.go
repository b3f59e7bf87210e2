package runner

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc/panics"
	"github.com/tidwall/gjson"

	"wavex/budget"
	"wavex/internal/proc"
)

// cli is one running process of the CLI. Conversations have it one after the other; what
// it says goes to the one that has it, and between them to nobody. It does not know what
// is said.
type cli struct {
	p     *proc.Process
	shape string     // what cannot be changed while it runs: flags, directory, names of variables
	limit budget.USD // --max-budget-usd it was started with; 0: none
	left  standing   // by its last conversation

	sink atomic.Pointer[sink]
	read chan struct{} // closed when its output has ended
	err  error         // why it could not be read to the end; set when read closes

	off     chan struct{} // closed when it does not wait any more; the pool's
	strayed chan struct{} // closed when it says something that nobody asked for
	stray   sync.Once

	mu     sync.Mutex // guards stderr
	stderr io.Writer  // nil: discarded
}

// standing is what a process has behind it.
type standing struct {
	served  int        // conversations
	session string     // of the last one
	spent   budget.USD // micro-dollars, all of its life
	usage   Usage      // all of its life
	clears  bool       // it has the command that begins a new session
	version string     // of the CLI
	// What it told of a subscription's limit: it tells again only what changes.
	notional bool
	limit    limit
}

// sink is where a process's output goes while a conversation has it. Its fields are the
// reader's until the conversation is over.
type sink struct {
	raw    io.Writer // receives every byte; its first error is rawErr, and nothing fails for it
	rawErr error
	line   func(line []byte, cut bool)
	alive  func()
	failed func(error) // a mistake of ours in line; the rest is read and thrown away
}

// launch starts a process for the conversation whose sinks are given; nil: for nobody yet.
func launch(spec proc.Spec, s *sink, stderr io.Writer) (*cli, error) {
	c := &cli{read: make(chan struct{}), strayed: make(chan struct{}), stderr: stderr}
	if s == nil {
		s = &sink{line: c.unasked}
	}
	c.sink.Store(s)
	spec.Stdin, spec.Stderr = true, outward{c}
	var err error
	if c.p, err = proc.Start(spec); err != nil {
		return nil, err
	}
	go c.listen()
	return c, nil
}

// attach gives the output to a conversation. Nobody has it.
func (c *cli) attach(s *sink, stderr io.Writer) {
	c.mu.Lock()
	c.stderr = stderr
	c.mu.Unlock()
	c.sink.Store(s)
}

// detach takes the output away from the conversation that has it. It is called while the
// reader waits within the sink's line, so that the conversation may look at what it gathered.
func (c *cli) detach() {
	c.sink.Store(&sink{line: c.unasked})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stderr = nil
}

// unasked hears what is said while nobody has the process. Notices are nothing; that it
// works is, and an init line says that it begins to.
func (c *cli) unasked(line []byte, _ bool) {
	kind, ok := sniff(line)
	switch {
	case ok && kind == "rate_limit_event":
	case ok && kind == "system" && gjson.GetBytes(line, "subtype").Str != "init":
	default:
		c.astray()
	}
}

func (c *cli) astray() { c.stray.Do(func() { close(c.strayed) }) }

// fit tells whether the process is there and was silent while it waited.
func (c *cli) fit() bool {
	select {
	case <-c.p.Done():
		return false
	case <-c.strayed:
		return false
	default:
		return true
	}
}

// listen takes the whole output, whatever is in it.
func (c *cli) listen() {
	defer close(c.read)
	s := &stream{raw: inward{c}, line: func(line []byte, cut bool) { c.sink.Load().line(line, cut) }, alive: c.alive}
	if r := panics.Try(func() { c.err = s.run(c.p.Stdout) }); r != nil {
		// The agent must not hang on a full pipe for a mistake of ours.
		c.astray()
		if f := c.sink.Load().failed; f != nil {
			f(r.AsError())
		}
		_, _ = io.Copy(io.Discard, c.p.Stdout)
	}
}

func (c *cli) alive() {
	if f := c.sink.Load().alive; f != nil {
		f()
	}
}

// inward is the standard output of a process as it comes.
type inward struct{ *cli }

func (w inward) Write(b []byte) (int, error) {
	if s := w.sink.Load(); s.raw != nil && s.rawErr == nil {
		_, s.rawErr = s.raw.Write(b)
	}
	return len(b), nil
}

// outward is its standard error.
type outward struct{ *cli }

func (w outward) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stderr != nil {
		return w.stderr.Write(b)
	}
	return len(b), nil
}
