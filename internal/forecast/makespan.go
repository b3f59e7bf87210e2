package forecast

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// Makespan is the expected duration of a plan, with one attempt for each task and nothing else
// counted.
type Makespan struct {
	Parallel   int     `json:"parallel"`
	Unit       string  `json:"unit"` // "s", or "tasks" if the plan has no estimate and each task counts as 1
	Waves      float64 `json:"waves"`
	Eager      float64 `json:"eager"`
	LowerBound float64 `json:"least"`             // the critical path, or the evenly shared work
	Partial    bool    `json:"partial,omitempty"` // there are lists that are not known yet, whose tasks are left out
}

// maxSimulated bounds the number of tasks of a plan that check simulates. For more tasks the
// simulation would take longer than the check.
const maxSimulated = 10_000

// Simulate computes both schedules. It returns nil for an empty or a very large plan.
func Simulate(p *plan.Plan) (*Makespan, error) {
	if len(p.Tasks) == 0 || len(p.Tasks) > maxSimulated {
		return nil, nil
	}
	seconds, known := scheduler.NewState(p).Expected()
	each := func(i int) float64 { return seconds[i] }
	m := &Makespan{Parallel: cmp.Or(p.Parallel, 4), Unit: "tasks", Partial: p.MostTasks() > len(p.Tasks)}
	if known {
		m.Unit = "s"
	}
	var err error
	if m.Waves, err = scheduler.Makespan(p, event.Waves, m.Parallel, each); err != nil {
		return nil, err
	}
	if m.Eager, err = scheduler.Makespan(p, event.Eager, m.Parallel, each); err != nil {
		return nil, err
	}
	m.LowerBound = scheduler.MakespanLowerBound(p, m.Parallel, each)
	return m, nil
}

// String returns the line that check prints; "" for nil.
func (m *Makespan) String() string {
	if m == nil {
		return ""
	}
	say := func(v float64) string {
		if m.Unit == "s" {
			return clampDuration(v * float64(time.Second)).Truncate(time.Second / 10).String()
		}
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	what := "expected at -j " + strconv.Itoa(m.Parallel)
	if m.Unit != "s" {
		what += ", in lengths of a task"
	}
	if m.Partial {
		what += ", without the lists that are not known yet"
	}
	line := fmt.Sprintf("%s: waves %s, eager %s, at best %s", what, say(m.Waves), say(m.Eager), say(m.LowerBound))
	if cost := 100 * (m.Waves/m.Eager - 1); cost >= 1 {
		line += fmt.Sprintf("; the barriers cost %.0f %%", cost)
	}
	return line + "\n"
}
