package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"wavex/internal/event"
)

// StopDecision is the answer to a Stop hook.
type StopDecision struct {
	Block     bool
	LogReason string // why the session is let go or held, in one line
	Reason    string // text for a held session
	Unrelated bool   // let go because there is no run, or none of this session
}

func allowStop(why string) StopDecision { return StopDecision{LogReason: why} }

// DecideStop decides whether a session may stop. tell returns the number of consecutive evaluations,
// including this one, in which a hook had already held the turn without progress of the run. Stop
// calls it last; false means that the count is not available.
//
// The first condition that holds decides: no run, another session's run, an ended run (complete,
// cancelled, paused, a breaker, a limit), the runaway guard. Otherwise the session is held.
func DecideStop(in Input, r Run, limit int, tell func() (int, bool)) StopDecision {
	c := &r.Snapshot
	switch {
	case in.Event != "" && in.Event != "Stop":
		return allowStop("not a Stop hook: " + in.Event)
	case c.Run == "":
		return StopDecision{LogReason: ErrNoRun.Error(), Unrelated: true}
	case in.Session == "" || c.Owner != in.Session:
		return StopDecision{LogReason: "the loop is not this session's", Unrelated: true}
	case r.List != "" && len(r.Pending) == 0:
		return allowStop("every task of list " + r.List + " is completed")
	}
	if e := r.Ended; e != nil && e.Status != event.RunInterrupted {
		return allowStop("the run is " + string(e.Status))
	}
	if s := c.Stop; r.Ended == nil && s != nil && s.Status != event.RunInterrupted {
		return allowStop("the run stops: " + s.Reason)
	}
	switch {
	case c.MaxSameUnmet > 0 && c.SameUnmet >= c.MaxSameUnmet:
		return allowStop("the circuit breaker is open")
	case !r.Live && c.MaxIter > 0 && c.Iterations >= c.MaxIter:
		return allowStop("the iterations are spent")
	case r.Live && runsWavex(in.Background):
		return allowStop("wavex runs in the background; the CLI goes on when it ends")
	}
	if n, ok := tell(); !ok {
		return allowStop("how often the session was held cannot be counted")
	} else if n >= min(max(limit, 1), MaxStreak) {
		return allowStop("held often enough without progress")
	}
	v := StopDecision{Block: true, LogReason: progressText(c), Reason: reinforcement(in, r)}
	if r.List != "" {
		v.LogReason += ", " + pendingText(r.Pending)
	}
	return v
}

// shellSigns sets the signs that end a command in a shell apart from its words.
var shellSigns = strings.NewReplacer("(", " ( ", ")", " ) ", ";", " ; ", "&", " & ", "|", " | ")

// runsWavex reports whether a background command is a wavex that works at a run or a request.
func runsWavex(list []Background) bool {
	for _, b := range list {
		if b.Status != "" && b.Status != "running" && b.Status != "pending" {
			continue
		}
		words := strings.Fields(shellSigns.Replace(b.Command))
		for i, w := range words[:max(0, len(words)-1)] {
			if isWavex(w) && slices.Contains([]string{"run", "resume", "retry", "start", "verify"}, words[i+1]) {
				return true
			}
		}
	}
	return false
}

// Formats lists the contracts of Stop hooks that Render writes. claude is the contract of the CLI,
// ok is the answer of a prompt hook's model, gsd is the contract of another tool.
func Formats() []string { return []string{"claude", "ok", "gsd"} }

// Render returns a verdict as the output of a Stop hook. The output is empty if the session is let
// go and the format needs no text for that.
func Render(v StopDecision, format string) []byte {
	type answer map[string]any
	var out answer
	switch {
	case format == "ok" && v.Block:
		out = answer{"ok": false, "reason": v.Reason}
	case format == "ok":
		out = answer{"ok": true, "reason": v.LogReason}
	case format == "gsd" && v.Block:
		out = answer{"decision": "block", "prompt": v.Reason}
	case format == "gsd":
		out = answer{"decision": "allow"}
	case v.Block:
		// Observed on claude 2.1.330: the model gets the reason as the next user turn, and only the user
		// sees the system message.
		out = answer{"decision": "block", "reason": v.Reason,
			"systemMessage": "wavex: " + v.LogReason + "; the session goes on"}
	default:
		return nil
	}
	return encodeLine(out)
}

// RenderContext returns the output with which a SessionStart hook adds a text to a session. It is
// empty for an empty text.
func RenderContext(text string) []byte {
	if text == "" {
		return nil
	}
	var out struct {
		Specific struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	out.Specific.Event, out.Specific.Context = "SessionStart", text
	return encodeLine(out)
}

func encodeLine(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // encoding strings and booleans cannot fail
	}
	return append(b, '\n')
}
