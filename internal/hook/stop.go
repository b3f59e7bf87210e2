package hook

import "strings"

// MaxStreak is the maximum of a limit of consecutive evaluations: the CLI itself overrides a hook
// that has held a turn eight times (claude 2.1.197; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP changes that).
const MaxStreak = 8

// Verdict is the answer to a Stop hook.
type Verdict struct {
	Hold   bool
	Why    string // why the session is let go or held, in one line
	Reason string // text for a held session
	Other  bool   // let go because there is no run, or none of this session
}

func letGo(why string) Verdict { return Verdict{Why: why} }

// Stop decides whether a session may stop. tell returns the number of consecutive evaluations,
// including this one, in which a hook had already held the turn without progress of the run. Stop
// calls it last; false means that the count is not available.
//
// The first condition that holds decides: no run, another session's run, an ended run (complete,
// cancelled, paused, a breaker, a limit), the runaway guard. Otherwise the session is held.
func Stop(in Input, r Run, limit int, tell func() (int, bool)) Verdict {
	c := &r.Card
	switch {
	case in.Event != "" && in.Event != "Stop":
		return letGo("not a Stop hook: " + in.Event)
	case c.Run == "":
		return Verdict{Why: ErrNoRun.Error(), Other: true}
	case in.Session == "" || c.Owner != in.Session:
		return Verdict{Why: "the loop is not this session's", Other: true}
	case r.List != "" && len(r.Pending) == 0:
		return letGo("every task of list " + r.List + " is completed")
	}
	if e := r.Ended; e != nil && e.Status != "interrupted" {
		return letGo("the run is " + e.Status)
	}
	if s := c.Stop; r.Ended == nil && s != nil && s.Status != "interrupted" {
		return letGo("the run stops: " + s.Reason)
	}
	switch {
	case c.MaxSame > 0 && c.Same >= c.MaxSame:
		return letGo("the circuit breaker is open")
	case !r.Live && c.MaxIter > 0 && c.Iterations >= c.MaxIter:
		return letGo("the iterations are spent")
	case r.Live && background(in.Background):
		return letGo("wavex runs in the background; the CLI goes on when it ends")
	}
	if n, ok := tell(); !ok {
		return letGo("how often the session was held cannot be counted")
	} else if n >= min(max(limit, 1), MaxStreak) {
		return letGo("held often enough without progress")
	}
	v := Verdict{Hold: true, Why: progress(c), Reason: reinforcement(in, r)}
	if r.List != "" {
		v.Why += ", " + pending(r.Pending)
	}
	return v
}

// background reports whether a background command is a run of wavex.
func background(list []Background) bool {
	for _, b := range list {
		if b.Status != "" && b.Status != "running" && b.Status != "pending" {
			continue
		}
		words := strings.Fields(b.Command)
		for i, w := range words[:max(0, len(words)-1)] {
			if verb := words[i+1]; isWavex(w) && (verb == "run" || verb == "resume") {
				return true
			}
		}
	}
	return false
}
