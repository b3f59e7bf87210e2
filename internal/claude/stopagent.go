package claude

// This file stops an agent: it interrupts the turn, then terminates the process, then kills it.

import (
	"cmp"
	"time"
)

// stop ends the conversation. It first sends an interrupt request, after which the CLI still
// reports the cost of the turn and ends its own tools.
func (c *conversation) stop(cause error, done bool) {
	select {
	case <-c.p.Done(): // the process exited at the same time
		return
	default:
	}
	if p := c.transcript.calls; p != nil {
		p.stop()
	}
	wait := c.stopWait(cause)
	if done {
		c.end.endedAfterTurn = true // the turn was over, so its result counts
		c.terminate(wait.Terminate)
		return
	}
	c.end.stop = cause
	if !c.closed {
		c.send([]byte(interruptLine))
		c.await(wait.Interrupt, true)
		c.close()
	}
	if !c.await(wait.Close, false) {
		c.terminate(wait.Terminate)
	}
}

// stopWait returns the time for each step of stopping an agent, by the cause; nil: its turn is over. A
// wavex that is asked to stop must be gone within seven seconds, because containers and CI runners kill
// it after about ten.
func (c *conversation) stopWait(cause error) StopWait {
	w := StopWait{Interrupt: 2500 * time.Millisecond, Close: time.Second, Terminate: time.Second}
	switch cause {
	case nil, errTimeout, errIdle, errNoise:
		w = StopWait{Interrupt: 10 * time.Second, Close: 3 * time.Second, Terminate: 5 * time.Second}
	}
	own := c.agent.StopWait
	return StopWait{cmp.Or(own.Interrupt, w.Interrupt), cmp.Or(own.Close, w.Close), cmp.Or(own.Terminate, w.Terminate)}
}

// interruptLine asks the CLI to end the current turn. The CLI answers with a control_response and a
// result line that has the cost.
const interruptLine = `{"type":"control_request","request_id":"wavex-stop","request":{"subtype":"interrupt"}}` + "\n"

// terminate sends SIGTERM to the process group, and SIGKILL after a time. Wait ends the remaining
// processes.
func (c *conversation) terminate(wait time.Duration) {
	_ = c.p.Terminate() // an error means that the process has exited
	if !c.await(wait, false) {
		_ = c.p.Kill()
	}
}

// await waits for the exit, or with turn also for the end of the turn. It returns false after the
// time limit.
func (c *conversation) await(d time.Duration, turn bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-c.p.Done():
			return true
		case e := <-c.turns:
			if e != turnResumed && turn {
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
	Interrupt time.Duration // from the interrupt request to the result line; 0: 10 s, or 2.5 s if the run is stopped
	Close     time.Duration // from closing stdin to the exit; 0: 3 s, or 1 s
	Terminate time.Duration // from SIGTERM to SIGKILL; 0: 5 s, or 1 s
}
