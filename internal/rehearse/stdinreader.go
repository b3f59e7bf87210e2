package rehearse

// This file reads and parses the lines of standard input, of any length.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sync"
)

// message is one line of input.
type message struct {
	Type      string `json:"type"` // "user", "control_request", "control_response", ...
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string                 `json:"subtype"`
		Hooks   map[string][]callbacks `json:"hooks"`
	} `json:"request"`
	Response callbackAnswer `json:"response"`
	Message  struct {
		Role string `json:"role"`
	} `json:"message"`
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
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{err: usageErrorf("Error parsing streaming input line: %.200s: %v", line, err)}
	}
	if m.Type == "user" && m.Message.Role != "user" {
		m.err = usageErrorf("Error: Expected message role 'user', got '%s'", m.Message.Role)
	}
	return m
}
