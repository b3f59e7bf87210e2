package userdata

// This file keeps the learnings of runs: failures with their cause, discoveries, constraints, one JSON object per
// line. It proposes new ones after a run (Deviations), and keeps only learnings that a person accepted.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// The kinds of learnings.
const (
	Failure    = "failure"    // it failed in this way, for this cause
	Discovery  = "discovery"  // the fact differs from the assumption
	Constraint = "constraint" // a requirement
)

// learningsFile is the file of learnings in a folder.
const learningsFile = "learnings.jsonl"

// Learning is one lesson for later runs.
type Learning struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	Context    string    `json:"context"`              // the work at that time
	Failure    string    `json:"failure,omitempty"`    // the fault or finding
	Cause      string    `json:"root_cause,omitempty"` // the reason
	Prevention string    `json:"prevention,omitempty"` // advice for the next time
	Files      []string  `json:"files,omitempty"`
	Signature  string    `json:"signature,omitempty"` // of the error, as returned by runner.Signature
	Run        string    `json:"run,omitempty"`
	Task       string    `json:"task,omitempty"`
	Time       time.Time `json:"time"`
	Count      int       `json:"count,omitempty"` // the number of occurrences; 0 and 1 mean once
}

// maxText bounds each text, in bytes, because a learning goes into prompts.
const maxText = 500

// Clean returns the learning with bounded texts and with an id if it had none. The same words
// have the same id at any time.
func (l Learning) Clean() Learning {
	for _, s := range []*string{&l.Context, &l.Failure, &l.Cause, &l.Prevention, &l.Signature} {
		*s = textfmt.Shorten(textfmt.Line(*s), maxText)
	}
	if l.Kind != Failure && l.Kind != Constraint {
		l.Kind = Discovery
	}
	if l.ID == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{l.Kind, l.Context, l.Failure, l.Cause, l.Prevention}, "\x00")))
		l.ID = hex.EncodeToString(sum[:])[:8]
	}
	return l
}

// String returns the learning on one line, for people and prompts.
func (l Learning) String() string {
	parts := []string{l.Context}
	if l.Failure != "" {
		parts = append(parts, l.Failure)
	}
	if l.Cause != "" {
		parts = append(parts, "because: "+l.Cause)
	}
	if l.Prevention != "" {
		parts = append(parts, "so: "+l.Prevention)
	}
	return l.Kind + ": " + strings.Join(parts, "; ")
}

// maxLearnings bounds a file of learnings, in bytes.
const maxLearnings = 64 << 20

// LoadLearnings reads a file of learnings; a missing file is empty. It merges repeated learnings into one
// with their count and latest time. It skips and counts lines that cannot be read, because people
// edit the file and that must not stop a run.
func LoadLearnings(path string) (list []Learning, bad int, err error) {
	data, err := safefile.Read(path, maxLearnings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading learnings: %w", err)
	}
	list, bad = parseLearnings(data)
	return list, bad, nil
}

// parseLearnings is LoadLearnings for bytes in memory.
func parseLearnings(data []byte) (list []Learning, bad int) {
	at := map[string]int{}
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l Learning
		if json.Unmarshal(line, &l) != nil || strings.TrimSpace(l.Context+l.Failure+l.Prevention) == "" {
			bad++
			continue
		}
		l = l.Clean()
		l.Count = max(1, l.Count)
		if i, ok := at[l.ID]; ok {
			l.Count += list[i].Count
			if list[i].Time.After(l.Time) {
				l.Time = list[i].Time
			}
			list[i] = l
			continue
		}
		at[l.ID] = len(list)
		list = append(list, l)
	}
	return list, bad
}

// Permissions of files of learnings.
const (
	Shared   fs.FileMode = 0o644 // kept by a person, with the code
	Proposed fs.FileMode = 0o600 // quotes agents, and no person has looked at it
)

// AddLearnings appends learnings to a file, which it creates with perm if it is missing, in one write, and syncs it.
// It first completes a torn last line, so that no learning is joined to it.
func AddLearnings(path string, list []Learning, perm fs.FileMode) (err error) {
	if len(list) == 0 {
		return nil
	}
	text, err := encodeLearnings(list)
	if err != nil {
		return err
	}
	switch old, err := safefile.Read(path, maxLearnings); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // opening a named pipe could block for ever
		return fmt.Errorf("keeping learnings: %w", err)
	case len(old) > 0 && old[len(old)-1] != '\n':
		text = append([]byte{'\n'}, text...)
	}
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	f, err := safefile.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, perm)
	if err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	return f.Sync()
}

// ReplaceLearnings replaces the content of a file of proposed learnings atomically.
func ReplaceLearnings(path string, list []Learning) error {
	text, err := encodeLearnings(list)
	if err != nil {
		return err
	}
	if err = safefile.CheckPath(filepath.Dir(path)); err == nil {
		err = maybe.WriteFile(path, text, Proposed)
	}
	if err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	return nil
}

// encodeLearnings returns the lines of learnings.
func encodeLearnings(list []Learning) ([]byte, error) {
	var out []byte
	for _, l := range list {
		b, err := json.Marshal(l.Clean())
		if err != nil {
			return nil, fmt.Errorf("encoding a learning: %w", err)
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}

// Deviations reads the section "Deviations" of a _context.md: entries of lines "- Before: ...",
// "- Found: ...", "- Adjustment: ...". It skips entries without a finding, entries with the
// template's words, and entries with the mark of those that wavex wrote.
func Deviations(context, mark, run string, at time.Time) []Learning {
	var out []Learning
	var l Learning
	flush := func() {
		template := strings.Trim(l.Failure, "XYZ.") == "" || strings.EqualFold(l.Failure, "no deviation")
		if !template {
			l.Kind, l.Run, l.Time = Discovery, run, at
			l.Context = cmp.Or(l.Context, "an assumption of the plan")
			out = append(out, l.Clean())
		}
		l = Learning{}
	}
	in := false
	for line := range strings.Lines(context) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			flush()
			in = strings.EqualFold(strings.TrimSpace(strings.TrimLeft(title, "#")), "deviations")
			continue
		}
		if !in {
			continue
		}
		key, value, _ := strings.Cut(strings.TrimLeft(line, "-* "), ":")
		key, value = strings.ToLower(strings.Trim(key, "* ")), strings.TrimSpace(value)
		if strings.Contains(line, mark) { // the last line of an entry, or its only one
			if key == "adjustment" {
				l = Learning{}
			}
			flush()
			continue
		}
		switch key {
		case "before", "pre-assumption":
			flush()
			l.Context = value
		case "found", "actual finding":
			if l.Failure != "" { // this entry has no assumption
				flush()
			}
			l.Failure = value
		case "adjustment":
			l.Prevention = value
		}
	}
	flush()
	return out
}
