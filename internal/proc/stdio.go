package proc

import (
	"io"
	"os"
	"sync"
)

// stdio connects the standard streams of a process that is about to start. It holds the child's
// ends and ours.
type stdio struct {
	child  []io.Closer // closed in this process once the child has them
	parent []*os.File  // closed when the start fails
	copies []copyJob
}

type copyJob struct {
	from *pipeReader
	to   io.Writer
}

// run copies until the output ends or the writer fails. If the writer fails the child sees a
// closed pipe.
func (c copyJob) run() {
	buf := buffers.Get().(*[]byte)
	_, _ = io.CopyBuffer(c.to, c.from, *buf)
	buffers.Put(buf)
	c.from.discard()
}

// buffers holds buffers for copying; most commands print less than a line.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (w *stdio) connect(p *Process, s Spec) error {
	if s.Stdin {
		r, ours, err := os.Pipe()
		if err != nil {
			return err
		}
		w.child, w.parent = append(w.child, r), append(w.parent, ours)
		p.cmd.Stdin, p.Stdin = r, ours
	}
	if s.Combined != nil {
		f, _, err := w.outputPipe(p, s.Combined)
		if err != nil {
			return err
		}
		p.cmd.Stdout, p.cmd.Stderr = f, f
		if s.Stdout != nil {
			p.cmd.Stdout, _, err = w.outputPipe(p, s.Stdout)
		}
		return err
	}
	f, o, err := w.outputPipe(p, nil)
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.Stdout = f, o
	if s.Stderr != nil {
		f, _, err := w.outputPipe(p, s.Stderr)
		if err != nil {
			return err
		}
		p.cmd.Stderr = f
	}
	return nil
}

// outputPipe returns the file that the child writes to: the writer itself if it is a file, or else a
// pipe. With a nil writer the outlet is for Process.Stdout.
func (w *stdio) outputPipe(p *Process, to io.Writer) (io.Writer, *pipeReader, error) {
	if f, ok := to.(*os.File); ok {
		return f, nil, nil
	}
	r, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	w.child, w.parent = append(w.child, theirs), append(w.parent, r)
	o := newPipeReader(r)
	p.readers = append(p.readers, o)
	if to != nil {
		w.copies = append(w.copies, copyJob{from: o, to: to})
	}
	return theirs, o, nil
}

func (w *stdio) closeChild() {
	for _, f := range w.child {
		_ = f.Close()
	}
	w.child = nil
}

func (w *stdio) closeAll() {
	w.closeChild()
	for _, f := range w.parent {
		_ = f.Close()
	}
}
