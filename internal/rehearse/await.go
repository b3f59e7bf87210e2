package rehearse

// This file is the only place where the agent waits. While it waits, it answers control requests and
// obeys signals.

import (
	"context"
	"os"
	"time"
)

// await waits for the timer or for done, whichever is not nil. If both are nil, it waits for the
// next message or the end of the input. Meanwhile it answers control requests.
func (a *agent) await(ctx context.Context, timer <-chan time.Time, done <-chan struct{}) error {
	idle := timer == nil && done == nil
	for {
		select {
		case <-timer:
			return nil
		case <-done:
			return nil
		case <-ctx.Done():
			return errTerm
		case s := <-a.signals:
			if s == os.Interrupt {
				return errInt
			}
			return errTerm
		case m, ok := <-a.in:
			if !ok {
				a.in = nil
			} else if err := a.onMessage(m); err != nil {
				return err
			}
			if idle {
				return nil
			}
		}
	}
}

// onMessage handles one message.
func (a *agent) onMessage(m message) error {
	if m.err != nil {
		return inputError{m.err}
	}
	switch m.Get("type").Text() {
	case "user":
		a.prompted = true
	case "control_response":
		a.answer = m.Get("response")
	case "control_request":
		a.answerControl(m)
		if m.Get("request.subtype").Text() == "interrupt" {
			return errInterrupt
		}
	}
	return nil
}

// answerControl prints the control_response to a request.
func (a *agent) answerControl(m message) {
	l := controlLine{Type: "control_response"}
	l.Response.Subtype, l.Response.ID = "success", m.Get("request_id").Text()
	switch subtype := m.Get("request.subtype").Text(); subtype {
	case "interrupt":
	case "initialize":
		if a.hooks == nil { // a second one is ignored
			a.hooks = m.Get("request.hooks")
		}
		l.Response.Response = map[string]any{"pid": os.Getpid()}
	default:
		l.Response.Subtype, l.Response.Error = "error", "Unsupported control request subtype: "+subtype
	}
	a.emit(l)
}

// pause waits for d of rehearsed time.
func (a *agent) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(a.scale(d))
	defer t.Stop()
	return a.await(ctx, t.C, nil)
}

func (a *agent) scale(d time.Duration) time.Duration { return time.Duration(float64(d) / a.speed) }
