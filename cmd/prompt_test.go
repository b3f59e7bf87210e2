package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"wavex/counsel"
	"wavex/internal/request"
	"wavex/scheduler"
)

// A Ctrl-C ends a question of the stages even if no line follows.
func TestNoLineAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	in, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() }) // ends the pending read
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &prompted{at: "> ", then: func() { cancel(scheduler.ErrInterrupted) }}
	p := &prompter{in: bufio.NewReader(in), out: out}
	_, err := p.Clarify(ctx, request.Score{}, []counsel.ClarifyQuestion{{Dimension: "done", Question: "When is it over?"}})
	if !errors.Is(err, scheduler.ErrInterrupted) {
		t.Errorf("clarifying ended with %v", err)
	}
	if _, err := p.DismissLearnings(ctx, nil); !errors.Is(err, scheduler.ErrInterrupted) {
		t.Errorf("recalling ended with %v", err)
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		t.Errorf("what follows stands behind the prompt: %q", out.String())
	}
}

// prompted calls a function once a prompt appears.
type prompted struct {
	bytes.Buffer
	at   string
	then func()
}

func (p *prompted) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if bytes.HasSuffix(b, []byte(p.at)) {
		p.then()
	}
	return n, err
}
