package runlog

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// This file reads one task of a long journal without the others.

// TaskLog is one task of the last run in a journal.
type TaskLog struct {
	Dir      loop.Dir
	Run      string
	Task     plan.Task
	Attempts int           // number of the last attempt
	Events   []event.Event // the starts and ends of its attempts
}

// longJournal is the size from which on ReadTask is worth its effort: smaller journals are read in less than 0.2 s.
const longJournal = 4 << 20

// plainBytes are those that JSON writes unchanged.
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// ReadTask returns a task of the last run in a .loop directory. It decodes only the records of the run and of the task,
// but checks all. It returns nil for a journal that is not long, and wherever more than these records may be needed:
// for a task without attempts, one that is not in the outline of the plan, an attempt that was cut off, a rollback, and
// an error. The caller then reads the whole journal.
func ReadTask(dir loop.Dir, id string) *TaskLog {
	if st, err := os.Stat(dir.Path(loop.Journal)); err != nil || st.Size() < longJournal ||
		strings.Trim(id, plainBytes) != "" {
		return nil
	}
	quoted, err := json.Marshal(id)
	if err != nil {
		return nil
	}
	own := append([]byte(`"data":{"task":`), quoted...)
	run, back, attempt := []byte(`,"type":"run_`), []byte(`,"type":"rolled_back"`), []byte(`,"type":"attempt_`)
	corrected := []byte(`,"type":"cost_corrected"`)
	alive := journal.Locked(dir) // asked first: if it ends now, its end is on record
	records, err := journal.Select(dir.Path(loop.Journal), func(text []byte) bool {
		head := text[:min(len(text), 120)] // the type stands behind version, number and time
		return bytes.Contains(head, run) || bytes.Contains(head, back) ||
			(bytes.Contains(head, attempt) || bytes.Contains(head, corrected)) &&
				bytes.Contains(text[:min(len(text), 400)], own)
	})
	if err != nil {
		return nil
	}
	return newTaskLog(dir, id, records, alive)
}

func newTaskLog(dir loop.Dir, id string, records [][]byte, alive bool) *TaskLog {
	l := &TaskLog{}
	var last *Run
	open := false
	for _, text := range records {
		var e event.Event
		if e.UnmarshalJSON(text) != nil {
			return nil
		}
		switch b := e.Body.(type) {
		case event.RunStarted:
			last, l.Events, open = &Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest}, nil, false
		case event.RunResumed:
			last = &Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest}
		case event.RolledBack:
			return nil
		case event.AttemptStarted:
			l.Events, l.Attempts, open = append(l.Events, e), b.Attempt, true
		case event.AttemptEnded:
			l.Events, open = append(l.Events, e), false
		case event.CostCorrected:
			l.Events = append(l.Events, e)
		}
	}
	if last == nil || len(l.Events) == 0 || open && !alive {
		return nil
	}
	in, err := safefile.Open(dir.Run(last.Config.Run, loop.Outline))
	if err != nil {
		return nil
	}
	defer func() { _ = in.Close() }() // read only
	t := plan.OutlineTask(in, last.Digest, id)
	if t == nil {
		return nil
	}
	l.Dir, l.Run, l.Task = dir, last.Config.Run, *t
	return l
}
