package proc

import (
	"io"
	"os"
	"sync"
)

// wiring connects the standard streams of a process that is about to start. It holds the child's
// ends and ours.
type wiring struct {
	child  []io.Closer // closed in this process once the child has them
	ours   []*os.File  // closed when the start fails
	copies []copying
}

type copying struct {
	from *outlet
	to   io.Writer
}

// run copies until the output ends or the writer fails. If the writer fails the child sees a
// closed pipe.
func (c copying) run() {
	buf := buffers.Get().(*[]byte)
	_, _ = io.CopyBuffer(c.to, c.from, *buf)
	buffers.Put(buf)
	c.from.discard()
}

// buffers holds buffers for copying; most commands print less than a line.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (w *wiring) connect(p *Process, s Spec) error {
	if s.Stdin {
		ours, r, err := pipe(true)
		if err != nil {
			return err
		}
		w.child, w.ours = append(w.child, r), append(w.ours, ours)
		p.cmd.Stdin, p.Stdin = r, ours
	}
	if s.Combined != nil {
		f, _, err := w.outlet(p, s.Combined)
		if err != nil {
			return err
		}
		p.cmd.Stdout, p.cmd.Stderr = f, f
		return nil
	}
	f, o, err := w.outlet(p, nil)
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.Stdout = f, o
	if s.Stderr != nil {
		f, _, err := w.outlet(p, s.Stderr)
		if err != nil {
			return err
		}
		p.cmd.Stderr = f
	}
	return nil
}

// outlet returns the file that the child writes to: the writer itself if it is a file, or else a
// pipe. With a nil writer the outlet is for Process.Stdout.
func (w *wiring) outlet(p *Process, to io.Writer) (io.Writer, *outlet, error) {
	if f, ok := to.(*os.File); ok {
		return f, nil, nil
	}
	r, theirs, err := pipe(false)
	if err != nil {
		return nil, nil, err
	}
	w.child, w.ours = append(w.child, theirs), append(w.ours, r)
	o := newOutlet(r)
	p.outlets = append(p.outlets, o)
	if to != nil {
		w.copies = append(w.copies, copying{from: o, to: to})
	}
	return theirs, o, nil
}

func (w *wiring) closeChild() {
	for _, f := range w.child {
		_ = f.Close()
	}
	w.child = nil
}

func (w *wiring) abandon() {
	w.closeChild()
	for _, f := range w.ours {
		_ = f.Close()
	}
}
