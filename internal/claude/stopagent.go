package claude

// This file stops an agent: it interrupts the turn, then terminates the process, then kills it.

import (
	"cmp"
	"time"
)

// stop ends the conversation. It first sends an interrupt request, after which the CLI still
// reports the cost of the turn and ends its own tools.
func (c *conversation) stop(cause error, done bool, say chan<- []byte) {
	select {
	case <-c.p.Done(): // the process exited at the same time
		return
	default:
	}
	if done {
		c.end.endedAfterTurn = true // the turn was over, so its result counts
		c.terminate()
		return
	}
	c.end.stop = cause
	if !c.closed {
		say <- []byte(interruptLine)
		c.await(c.agent.StopWait.Interrupt, 10*time.Second, true)
		c.close()
	}
	if c.await(c.agent.StopWait.Close, 3*time.Second, false) {
		return
	}
	c.terminate()
}

// interruptLine asks the CLI to end the current turn. The CLI answers with a control_response and a
// result line that has the cost.
const interruptLine = `{"type":"control_request","request_id":"wavex-stop","request":{"subtype":"interrupt"}}` + "\n"

// terminate sends SIGTERM to the process group, then SIGKILL. Wait ends the remaining processes.
func (c *conversation) terminate() {
	_ = c.p.Terminate() // an error means that the process has exited
	if !c.await(c.agent.StopWait.Terminate, 5*time.Second, false) {
		_ = c.p.Kill()
	}
}

// await waits for the exit, or with turn also for the end of the turn. It returns false after the
// time limit.
func (c *conversation) await(d, def time.Duration, turn bool) bool {
	timer := time.NewTimer(cmp.Or(d, def))
	defer timer.Stop()
	for {
		select {
		case <-c.p.Done():
			return true
		case e := <-c.turns:
			if e == turnOver && turn {
				return true
			}
		case <-timer.C:
			return false
		}
	}
}

// StopWait bounds each step of stopping an attempt; after that time the next, harder step follows.
// Zero fields have defaults.
type StopWait struct {
	Interrupt time.Duration // from the interrupt request to the result line; 0: 10 s
	Close     time.Duration // from closing stdin to the exit; 0: 3 s
	Terminate time.Duration // from SIGTERM to SIGKILL; 0: 5 s
}
