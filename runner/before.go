package runner

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"wavex/budget"
)

// This file is about a process that had other conversations before: what it had spent by
// then, and the command that makes it begin a new session.

// beforeType is the type of a line of wavex's own, the first in the stream.jsonl of an
// attempt whose process had served others: what the CLI counts is cumulative.
const beforeType = "wavex"

// before is what is in that line.
type before struct {
	spent   budget.USD // micro-dollars
	usage   Usage
	session string
}

// beforeLine is the line itself.
type beforeLine struct {
	Type    string  `json:"type"`
	Served  int     `json:"served"`
	Session string  `json:"session"`
	Spent   float64 `json:"total_cost_usd"`
	Usage   Usage   `json:"usage"`
	Clear   bool    `json:"clear"` // a new session is begun first
}

func (s standing) line(clear bool) ([]byte, error) {
	line, err := json.Marshal(beforeLine{Type: beforeType, Served: s.served, Session: s.session, Spent: s.spent.Float(), Usage: s.usage, Clear: clear})
	return append(line, '\n'), err
}

// onBefore takes that line, which nobody but wavex can have written where it is the first.
func (f *facts) onBefore(o gjson.Result) {
	if f.lines > 0 || f.results > 0 || f.stray != "" {
		return
	}
	f.before = before{spent: budget.FromFloat(max(o.Get("total_cost_usd").Float(), 0)), session: o.Get("session").String()}
	_ = json.Unmarshal([]byte(o.Get("usage").Raw), &f.before.usage) // unreadable: nothing is taken off
	f.clearing = o.Get("clear").Bool()
}

// cleared takes the answer to /clear: a result of no turns, that names another session
// (observed on claude 2.1.197). Anything else means that the model was asked, and that the
// process is not to be used.
func (f *facts) cleared(r *resultLine) {
	f.clearing = false
	ok := !r.isError && r.turns == 0 && r.session != "" && r.session != f.before.session
	if ok {
		f.lines-- // nothing was asked of the API
	} else {
		f.results++
		f.result = r
	}
	if f.turn != nil {
		f.turn(turn{kind: cleared, ok: ok})
	}
}

// minus takes earlier counts off cumulative ones.
func (u Usage) minus(v Usage) Usage {
	return Usage{Input: max(u.Input-v.Input, 0), Output: max(u.Output-v.Output, 0),
		CacheRead: max(u.CacheRead-v.CacheRead, 0), CacheWrite: max(u.CacheWrite-v.CacheWrite, 0)}
}
