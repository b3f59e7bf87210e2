package rehearse

// This file reads and parses the lines of standard input, of any length.

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"sync"

	"wavex/internal/jsonobject"
)

// message is one line of input.
type message struct {
	jsonobject.Value
	err error // the line could not be parsed
}

// stdinReader reads in a goroutine of its own, so that the agent notices an interrupt during its work.
type stdinReader struct {
	lines chan message // closed at the end of input
	quit  chan struct{}
	done  sync.WaitGroup
	in    io.Reader
}

// newStdinReader starts to read.
func newStdinReader(in io.Reader) *stdinReader {
	e := &stdinReader{lines: make(chan message), quit: make(chan struct{}), in: in}
	e.done.Go(e.readLines)
	return e
}

func (e *stdinReader) readLines() {
	defer close(e.lines)
	r := bufio.NewReaderSize(e.in, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if !e.send(parseMessage(line)) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (e *stdinReader) send(m message) bool {
	select {
	case e.lines <- m:
		return true
	case <-e.quit:
		return false
	}
}

// close ends the reading. A read of the process's own standard input cannot be cancelled; only that
// goroutine remains until the process ends.
func (e *stdinReader) close() {
	close(e.quit)
	c, ok := e.in.(io.Closer)
	if _, file := e.in.(*os.File); file || !ok {
		return
	}
	_ = c.Close()
	e.done.Wait()
}

// parseMessage parses one line as the CLI does.
func parseMessage(line []byte) message {
	m := message{Value: line}
	if role := m.Get("message.role").Text(); !m.IsValid() || m.Kind() != '{' {
		m.err = usageErrorf("Error parsing streaming input line: %.200s: it is not a JSON object", line)
	} else if m.Get("type").Text() == "user" && role != "user" {
		m.err = usageErrorf("Error: Expected message role 'user', got '%s'", role)
	}
	return m
}
