package scratch

// This file computes the account of a run only from the files on disk: the spending in each
// process's stream, compared with the ledger. It shares no code with the runner's own reading of
// streams.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/runner"
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
	noise  bool       // a whole line that no CLI prints
	cut    bool       // a kill cut off the write of its last line
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
	data, err := os.ReadFile(filepath.Join(dir, loop.StreamFile))
	if err != nil {
		return streamCost{}
	}
	var s streamCost
	seen := map[string]bool{}
	var begun usage // of the response in progress
	for line := range bytes.Lines(data) {
		var l struct {
			Type    string
			Total   float64 `json:"total_cost_usd"`
			Message response
			Event   struct {
				Type    string
				Message response
				Usage   usage
			}
		}
		if json.Unmarshal(line, &l) != nil {
			s.cut = line[len(line)-1] != '\n'
			s.noise = s.noise || !s.cut
			continue
		}
		if l.Type == "control_response" {
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
		return s.total, "result"
	case !s.there:
		return 0, ""
	}
	return s.priced, "stream"
}

// accepts returns the expected cost and its source, or those that were counted if they are right too: a torn stream may
// have had more, and a cost that is unknown counts as the cap.
func (s streamCost) accepts(counted budget.USD, by string, cap budget.USD, torn bool) (budget.USD, string) {
	cost, want := s.expected()
	torn = torn || s.cut && !s.result
	switch {
	case torn && (by == "result" || by == "stream") && counted >= cost:
		return counted, by
	case by == "cap" && !s.result && (torn || s.noise):
		return cap, "cap"
	}
	return cost, want
}

// Account is the comparison of a complete run's journal with the files on disk.
type Account struct {
	Priced map[string]int // attempts, by the source of their cost
	Redone []string       // completed tasks that started again
	Money  []string       // costs that differ from those in the streams
	Other  []string       // records that contradict each other
}

// MustAddUp asserts on a complete run that no completed task started again, that every attempt and
// call counts the cost in its stream, and that the ledger is the sum. It returns how the attempts
// were priced. torn is that of Account.
func (p Project) MustAddUp(torn bool) (priced map[string]int) {
	p.T.Helper()
	a := p.Account(torn)
	for _, wrong := range slices.Concat(a.Redone, a.Money, a.Other) {
		p.T.Error(wrong)
	}
	return a.Priced
}

// Account compares the last run, which must be complete. torn means that the disk could not keep
// all streams: then the cost that wavex counted from its pipes may exceed that of the streams, and
// must never be below it.
func (p Project) Account(torn bool) Account {
	p.T.Helper()
	events := p.Events()
	run, end := LastRun(events)
	if end == nil || end.Status != "complete" {
		p.T.Fatalf("the journal does not end complete: %+v", end)
	}
	a := accounting{Account: Account{Priced: map[string]int{}}, torn: torn, done: map[string]int64{},
		ended: map[string]int64{}, unchecked: map[string]bool{}, caps: map[string]budget.USD{},
		dir: filepath.Join(p.Loop(), "runs", run)}
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			a.Other = append(a.Other, fmt.Sprintf("record %d has the number %d", i+1, e.Seq))
		}
		a.add(e)
	}
	if all := a.calls(".") + a.unknown; !torn && all != a.sum {
		a.Money = append(a.Money, fmt.Sprintf("all streams together cost %s, those of the records %s", all, a.sum))
	}
	if end.Cost != a.sum {
		a.Money = append(a.Money, fmt.Sprintf("the ledger says %s, the streams %s", end.Cost, a.sum))
	}
	if end.Tasks.Completed != a.completed {
		a.Other = append(a.Other, fmt.Sprintf("%d tasks completed, the journal completes %d", end.Tasks.Completed,
			a.completed))
	}
	return a.Account
}

// accounting is an Account in the making.
type accounting struct {
	Account
	dir       string // of the run
	torn      bool
	sum       budget.USD
	done      map[string]int64      // tasks that are done, with the number of the record
	ended     map[string]int64      // attempts whose turn has ended, likewise
	unchecked map[string]bool       // tasks whose last turn was good and whose checks an interrupt cut off
	caps      map[string]budget.USD // of attempts
	unknown   budget.USD            // counted for streams that cannot be read
	completed int
}

// add counts one record.
func (a *accounting) add(e event.Event) {
	switch b := e.Body.(type) {
	case event.AttemptStarted:
		if at, ok := a.done[b.Task]; ok {
			a.Redone = append(a.Redone, fmt.Sprintf("record %d starts %s, which was done at record %d", e.Seq, b.Task, at))
		}
		if a.unchecked[b.Task] && b.Why != event.WhyChecks {
			a.Money = append(a.Money, fmt.Sprintf("record %d makes a turn of %s again, which had ended", e.Seq, b.Task))
		}
		a.caps[fmt.Sprintf("attempt %d of %s", b.Attempt, b.Task)] = b.Cap
	case event.TurnEnded:
		key := fmt.Sprintf("attempt %d of %s", b.Attempt, b.Task)
		if at, ok := a.ended[key]; ok {
			a.Money = append(a.Money, fmt.Sprintf("record %d ends the turn of %s again, after record %d", e.Seq, key, at))
		}
		a.ended[key] = e.Seq
		a.unchecked[b.Task] = b.Turn.Result.Outcome == runner.Done
	case event.AttemptEnded:
		a.attempt(e.Seq, b)
	case event.IntegrationEnded:
		a.completed += len(b.Completed)
		for _, r := range b.Reopened {
			delete(a.done, r.Task)
		}
	case event.CounselEnded:
		a.call(fmt.Sprintf("tasks/%s/counsel-%d", b.Task, b.Panel), b.Verdict.Cost)
	case event.PrecheckEnded:
		a.call(fmt.Sprintf("precheck-%s-%d", b.Task, b.N), b.Challenge.Cost)
	case event.CriteriaEnded:
		a.call(fmt.Sprintf("criteria-%d", b.Round), b.Cost)
	case event.ReviewEnded:
		a.call(fmt.Sprintf("reviews/%d", b.N), b.Review.Cost)
	}
}

// attempt counts the end of an attempt.
func (a *accounting) attempt(seq int64, b event.AttemptEnded) {
	a.unchecked[b.Task] = a.unchecked[b.Task] && b.Result.Outcome == runner.Interrupted
	if b.Status == event.Completed || b.Status == event.Verified {
		a.done[b.Task] = seq
	}
	if b.Status == event.Completed {
		a.completed++
	}
	key := fmt.Sprintf("attempt %d of %s", b.Attempt, b.Task)
	stream := readStream(filepath.Join(a.dir, "tasks", b.Task, "attempt-"+strconv.Itoa(b.Attempt)))
	cost, by := stream.accepts(b.Result.Cost, b.Result.Priced, a.caps[key], a.torn)
	if (stream.cut || by == "cap") && !stream.result {
		a.unknown += cost - stream.priced
	}
	if b.Result.Cost != cost || b.Result.Priced != by {
		a.Money = append(a.Money, fmt.Sprintf("%s counts %s by %q; its stream says %s by %q", key, b.Result.Cost,
			b.Result.Priced, cost, by))
	}
	a.Priced[by]++
	a.sum += cost
}

// call counts the end of the calls in a folder of the run.
func (a *accounting) call(folder string, counted budget.USD) {
	cost := a.calls(folder)
	if a.torn {
		cost = max(cost, counted)
	}
	if counted != cost {
		a.Money = append(a.Money, fmt.Sprintf("%s counts %s; its streams say %s", folder, counted, cost))
	}
	a.sum += cost
}

// calls returns the cost of all streams below a folder of the run.
func (a *accounting) calls(folder string) (cost budget.USD) {
	root := filepath.Join(a.dir, filepath.FromSlash(folder))
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // a call may have left no folder
		if err == nil && d.Name() == loop.StreamFile {
			spent, _ := readStream(filepath.Dir(path)).expected()
			cost += spent
		}
		return nil
	})
	return cost
}
