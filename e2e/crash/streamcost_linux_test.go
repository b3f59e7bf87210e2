package crash

// This file computes the account of a run only from the files on disk: the spending in each
// process's stream, compared with the ledger. It shares no code with the runner's own reading of
// streams.

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"wavex/budget"
	"wavex/internal/event"
)

// The list price of the rehearsal agent, in micro-dollars a token.
const (
	priceIn  = 5
	priceOut = 25
)

// streamCost is the content of a stream file.
type streamCost struct {
	there  bool       // the file exists and its first line is whole
	result bool       // there is a result line
	total  budget.USD // its total_cost_usd
	priced budget.USD // of the responses, at list price
	before budget.USD // spent by the process on other attempts
	anew   bool       // its first result is the answer to /clear
}

// response is a response of the API in a stream.
type response struct {
	ID    string
	Usage usage
}

// usage is in tokens.
type usage struct {
	In  budget.USD `json:"input_tokens"`
	Out budget.USD `json:"output_tokens"`
}

func (u usage) worth() budget.USD { return u.In*priceIn + u.Out*priceOut }

func readStream(dir string) streamCost {
	data, err := os.ReadFile(filepath.Join(dir, "stream.jsonl"))
	if err != nil {
		return streamCost{}
	}
	var s streamCost
	seen := map[string]bool{}
	var begun usage // of the response in progress
	for line := range bytes.Lines(data) {
		var l struct {
			Type    string
			Clear   bool
			Total   float64 `json:"total_cost_usd"`
			Message response
			Event   struct {
				Type    string
				Message response
				Usage   usage
			}
		}
		if json.Unmarshal(line, &l) != nil {
			continue // torn
		}
		switch {
		case l.Type == "wavex":
			s.before, s.anew = budget.FromFloat(l.Total), l.Clear
			continue
		case l.Type == "control_response":
			continue
		case l.Type == "result" && s.anew:
			s.anew = false
			continue
		}
		s.there = true
		switch {
		case l.Type == "result":
			s.result, s.total = true, budget.FromFloat(l.Total)
		case l.Type == "assistant" && !seen[l.Message.ID]:
			seen[l.Message.ID] = true
			s.priced += l.Message.Usage.worth()
		case l.Event.Type == "message_start":
			begun, seen[l.Event.Message.ID] = l.Event.Message.Usage, true
			s.priced += begun.worth()
		case l.Event.Type == "message_delta":
			s.priced += (l.Event.Usage.Out - begun.Out) * priceOut
		}
	}
	return s
}

// expected returns the cost that has to be counted for the stream, and its source.
func (s streamCost) expected() (cost budget.USD, priced string) {
	switch {
	case s.result:
		return s.total - s.before, "result"
	case !s.there:
		return 0, ""
	}
	return s.priced, "stream"
}

// mustAddUp asserts on a complete run that no completed task started again, that every attempt
// counts the cost in its stream, and that the ledger is the sum. It returns how the attempts were
// priced.
func (p project) mustAddUp() (priced map[string]int) {
	p.t.Helper()
	return p.account(false)
}

// account is mustAddUp. torn means that the disk could not keep all streams: then the cost that
// wavex counted from its pipes may exceed that of the streams, and must never be below it.
func (p project) account(torn bool) (priced map[string]int) {
	t := p.t
	t.Helper()
	events := p.events()
	run, end := lastRun(events)
	if end == nil || end.Status != "complete" {
		t.Fatalf("the journal does not end complete: %+v", end)
	}
	var (
		sum       budget.USD
		done      = map[string]int64{} // tasks that are done, with the number of the record
		completed int
		place     = filepath.Join(p.loop(), "runs", run, "tasks")
	)
	priced = map[string]int{}
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			t.Errorf("record %d has the number %d", i+1, e.Seq)
		}
		switch b := e.Body.(type) {
		case event.AttemptStarted:
			if at, ok := done[b.Task]; ok {
				t.Errorf("record %d starts %s, which was done at record %d", e.Seq, b.Task, at)
			}
		case event.AttemptEnded:
			if b.Status == event.Completed || b.Status == event.Verified {
				done[b.Task] = e.Seq
			}
			if b.Status == event.Completed {
				completed++
			}
			cost, by := readStream(filepath.Join(place, b.Task, "attempt-"+strconv.Itoa(b.Attempt))).expected()
			if torn && b.Result.Priced == "result" && b.Result.Cost > cost {
				cost, by = b.Result.Cost, "result"
			}
			if b.Result.Cost != cost || b.Result.Priced != by {
				t.Errorf("attempt %d of %s counts %s by %q; its stream says %s by %q", b.Attempt, b.Task, b.Result.Cost,
					b.Result.Priced, cost, by)
			}
			priced[by]++
			sum += cost
		case event.IntegrationEnded:
			completed += len(b.Completed)
			for _, r := range b.Reopened {
				delete(done, r.Task)
			}
		case event.CounselEnded:
			var cost budget.USD
			calls, _ := filepath.Glob(filepath.Join(place, b.Task, "counsel-"+strconv.Itoa(b.Panel), "*"))
			for _, dir := range calls {
				spent, _ := readStream(dir).expected()
				cost += spent
			}
			if torn && b.Verdict.Unavailable == "" {
				cost = max(cost, b.Verdict.Cost)
			}
			if b.Verdict.Cost != cost {
				t.Errorf("panel %d of %s counts %s; its streams say %s", b.Panel, b.Task, b.Verdict.Cost, cost)
			}
			sum += cost
		}
	}
	if end.Cost != sum {
		t.Errorf("the ledger says %s, the streams %s", end.Cost, sum)
	}
	if end.Tasks.Completed != completed {
		t.Errorf("%d tasks completed, the journal completes %d", end.Tasks.Completed, completed)
	}
	return priced
}
