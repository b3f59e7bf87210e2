package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxInput bounds, in bytes, the input of a hook: the last message of a session may be long.
const maxInput = 8 << 20

// Input holds the used fields of a hook's input (observed on claude 2.1.330). Other fields are
// ignored.
type Input struct {
	Event      string       `json:"hook_event_name"` // "Stop", "SessionStart"
	Session    string       `json:"session_id"`
	Dir        string       `json:"cwd"`
	StopActive bool         `json:"stop_hook_active"` // a Stop hook has already held this turn
	Source     string       `json:"source"`           // startup, resume, clear, compact
	Background []Background `json:"-"`
}

// Background is a command that continues while the session stops. When it ends, the CLI starts
// another turn by itself.
type Background struct {
	Status  string `json:"status"` // "running"
	Command string `json:"command"`
}

// ReadInput reads a hook's input: one JSON object, with or without a byte order mark. If r is
// empty, it parses instead, because some callers pass the input that way.
func ReadInput(r io.Reader, instead string) (Input, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return Input{}, fmt.Errorf("reading the hook's input: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		b = []byte(strings.TrimSpace(instead))
	}
	return parseInput(b)
}

func parseInput(b []byte) (in Input, err error) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	switch {
	case len(b) == 0:
		return in, errors.New("the hook was given no input")
	case len(b) > maxInput:
		return in, fmt.Errorf("the hook's input is longer than %d bytes", maxInput)
	case !utf8.Valid(b):
		return in, errors.New("the hook's input is not UTF-8")
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return Input{}, fmt.Errorf("the hook's input: %w", err)
	}
	var more struct {
		Background []Background `json:"background_tasks"`
	}
	// Ignore these fields if a later version writes them in another form.
	if json.Unmarshal(b, &more) == nil {
		in.Background = more.Background
	}
	return in, nil
}
