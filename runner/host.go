package runner

import (
	"encoding/json"
	"io"
	"maps"
	"path/filepath"

	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// Host holds what attempts and the questions of an agent share: the variables of their processes,
// and the rules for their files. Every field may be zero.
type Host struct {
	Env proc.Inherited // variables of every process
	// ExtraEnv is set in the environment of every process: variables of the agent itself.
	ExtraEnv map[string]string
	// Rehearsal gives every process an assignment file (WAVEX_REHEARSE), also if the plan has no
	// rehearse block for it.
	Rehearsal bool
	// Redactor removes secrets from every file of an attempt and from the Reason and Detail of its
	// Result. If nil, nothing is removed. The caller must clean the other fields and the
	// Observations.
	Redactor Redactor
	// Observe receives signs of life, from one goroutine per attempt. It must not block. May be
	// nil.
	Observe func(Observation)
	// Wall keeps the processes of turns from writing the paths that are closed to them; nil: none.
	Wall *proc.Wall
	// Lister lists the files of projects. It may be nil only for requests without Trees.
	Lister *filetree.Lister
}

// Environ returns the environment of a process: the variables of h, and add, which wins.
func (h *Host) Environ(add map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, h.ExtraEnv)
	maps.Copy(all, add)
	return h.Env.With(all)
}

// Assignment is the content of the assignment file of the rehearsal agent.
type Assignment struct {
	Task    string          `json:"task"`
	Attempt int             `json:"attempt"`
	Block   json.RawMessage `json:"block,omitempty"`
}

// Prepare creates the log folder of an attempt or a question. It writes the prompt, and in a
// rehearsal the assignment, whose path it adds to env.
func (h *Host) Prepare(logDir, prompt string, env map[string]string, what Assignment) error {
	if err := safefile.MkdirAll(logDir, 0o700); err != nil {
		return err
	}
	if err := h.writePrompt(logDir, prompt); err != nil || !h.Rehearsal && len(what.Block) == 0 {
		return err
	}
	path := filepath.Join(logDir, loop.RehearseFile)
	env["WAVEX_REHEARSE"] = path
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	// Secrets are not removed: the rehearsal agent reads this file, and it is not a log.
	return safefile.Write(path, append(data, '\n'), 0o600)
}

// Redactor removes secrets from the files of an attempt. It must be safe for concurrent use.
type Redactor interface {
	// Bytes returns b without secrets; it does not change b.
	Bytes(b []byte) []byte
	String(s string) string // likewise
	// Value returns data, such as a []byte, without secrets. It leaves texts that may be code.
	Value(v any) any
	// Writer returns a writer that passes whole lines on to w, without secrets. Close writes the
	// rest and does not close w.
	Writer(w io.Writer) io.WriteCloser
}

// redact returns text without secrets.
func (h *Host) redact(text string) string {
	if h.Redactor == nil || text == "" {
		return text
	}
	return h.Redactor.String(text)
}

// writePrompt writes the prompt of an attempt or a question, if it has one.
func (h *Host) writePrompt(logDir, prompt string) error {
	if prompt == "" {
		return nil
	}
	return h.WriteFile(logDir, loop.PromptFile, []byte(prompt))
}

// WriteResult writes a result as JSON.
func (h *Host) WriteResult(logDir string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return h.WriteFile(logDir, loop.ResultFile, append(data, '\n'))
}

// WriteFile writes a whole log file, readable by the owner alone. It creates the folder, which a
// command task may not have yet.
func (h *Host) WriteFile(dir, name string, data []byte) error {
	if h.Redactor != nil {
		data = h.Redactor.Bytes(data)
	}
	if err := safefile.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return safefile.Write(filepath.Join(dir, name), data, 0o600)
}
