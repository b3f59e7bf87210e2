package session

import (
	"wavex/runner"
	"wavex/scheduler"
)

// warm is what keeps the agent's processes between attempts, nil where nothing does. By
// itself a session keeps as many as there are slots. The stand-in starts in no time: its
// processes wait only where that is asked for.
func (r *Session) warm() *runner.Warm {
	n := r.opts.Warm
	if n < 0 && !r.opts.Agent.Rehearses() {
		n = r.config.Parallel
	}
	if n <= 0 {
		return nil
	}
	return runner.NewWarm(n, max(n, r.config.Parallel))
}

// forewarned starts processes for a wave that is wider than the one before it, while that
// one is at work. Where attempts have trees of their own their folders are not known yet.
type forewarned struct {
	pool   *runner.Warm
	slots  int
	agents map[int]int // tasks for an agent, by wave
}

// forewarn is such a view; nil where nothing waits.
func (r *Session) forewarn(pool *runner.Warm) scheduler.View {
	if pool == nil || r.config.Isolation == scheduler.Isolated {
		return nil
	}
	f := forewarned{pool: pool, slots: r.config.Parallel, agents: map[int]int{}}
	for i := range r.state.Tasks {
		if r.state.Plan.Tasks[i].Command == "" {
			f.agents[r.state.Tasks[i].Wave]++
		}
	}
	return f
}

// Event looks one wave ahead.
func (f forewarned) Event(e scheduler.Event, _ *scheduler.State) {
	if w, ok := e.Body.(scheduler.WaveStarted); ok {
		f.pool.Expect(max(0, min(f.slots, f.agents[w.Wave+1])-f.agents[w.Wave]))
	}
}
