// Package learn keeps what runs have taught: failures with their cause, discoveries,
// constraints, one JSON object a line. It finds those that a new request should know
// of (recall.go) and proposes new ones after a run (propose.go). It asks no model, and
// it keeps nothing that nobody accepted.
package learn

import (
	"bytes"
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

	"wavex/internal/wary"
)

// The kinds of learnings.
const (
	Failure    = "failure"    // it went wrong so, because of that
	Discovery  = "discovery"  // it is otherwise than assumed
	Constraint = "constraint" // it has to be so
)

// FileName is the file of learnings in a folder, PendingName that of proposals which
// nobody has accepted yet.
const (
	FileName    = "learnings.jsonl"
	PendingName = "learnings.pending.jsonl"
)

// Learning is one thing worth knowing next time.
type Learning struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	Context    string    `json:"context"`              // what was being done
	Failure    string    `json:"failure,omitempty"`    // what went wrong, or was found
	Cause      string    `json:"root_cause,omitempty"` // why
	Prevention string    `json:"prevention,omitempty"` // what to do instead
	Files      []string  `json:"files,omitempty"`
	Signature  string    `json:"signature,omitempty"` // of the error, as runner.Signature makes it
	Run        string    `json:"run,omitempty"`
	Task       string    `json:"task,omitempty"`
	Time       time.Time `json:"time"`
	Count      int       `json:"count,omitempty"` // how often it was learnt; 0 and 1 are once
}

// maxText bounds each text, in bytes: a learning ends in prompts.
const maxText = 500

// Clean bounds the texts, and gives the learning its id where it has none: the same words
// have the same id, whenever they were learnt.
func (l Learning) Clean() Learning {
	for _, s := range []*string{&l.Context, &l.Failure, &l.Cause, &l.Prevention, &l.Signature} {
		*s = oneLine(*s)
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

// String is the learning on one line, for people and prompts.
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

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText-3], "") + "..."
	}
	return s
}

// maxFile bounds a file of learnings, in bytes.
const maxFile = 64 << 20

// Load reads a file of learnings; one that is not there is empty. What was learnt
// several times is one learning with its count and its latest time. Lines that cannot be
// read are passed over and counted: a file that people edit must not stop a run.
func Load(path string) (list []Learning, bad int, err error) {
	data, err := wary.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading learnings: %w", err)
	}
	list, bad = Parse(data)
	return list, bad, nil
}

// Parse is Load for bytes in memory.
func Parse(data []byte) (list []Learning, bad int) {
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

// Add appends learnings to a file, and makes it where it is missing. One write, then
// durable; a last line that was torn is closed first, so that nothing is joined to it.
func Add(path string, list []Learning) (err error) {
	if len(list) == 0 {
		return nil
	}
	var out bytes.Buffer
	switch old, err := wary.Read(path, maxFile); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // to open a named pipe could take for ever
		return fmt.Errorf("keeping learnings: %w", err)
	case len(old) > 0 && old[len(old)-1] != '\n':
		out.WriteByte('\n')
	}
	for _, l := range list {
		b, err := json.Marshal(l.Clean())
		if err != nil {
			return fmt.Errorf("encoding a learning: %w", err)
		}
		out.Write(append(b, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(out.Bytes()); err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	return f.Sync()
}

// Replace writes a file of learnings anew, whole or not at all.
func Replace(path string, list []Learning) error {
	var out bytes.Buffer
	for _, l := range list {
		b, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("encoding a learning: %w", err)
		}
		out.Write(append(b, '\n'))
	}
	if err := maybe.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("keeping learnings: %w", err)
	}
	return nil
}
