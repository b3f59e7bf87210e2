package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"wavex/internal/jsonschema"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file validates and keeps the structured result of a task.

// MaxOutput bounds a structured result, and inlineOutput one that Output holds itself, in bytes.
const (
	MaxOutput    = 1 << 20
	inlineOutput = 16 << 10
)

// OutputSpec asks for a structured result.
type OutputSpec struct {
	Schema json.RawMessage `json:"schema"` // JSON Schema
	// Dir is where a large result goes, absolute; it is created when missing. "": every result is inline.
	Dir string `json:"-"`
	// Lines means that a value that is no JSON array stands for the list of its lines that are not empty.
	Lines bool `json:"lines,omitempty"`
}

// Output is the structured result of a task: a JSON value that matches the schema of the task, without secrets.
type Output struct {
	Value  json.RawMessage `json:"value,omitempty"`  // a small one
	Digest string          `json:"digest,omitempty"` // of a large one: sha256, hex; names its file
	Size   int             `json:"size"`             // bytes
}

// outputFile returns the path of the file of a large result.
func outputFile(dir, digest string) string { return filepath.Join(dir, digest+".json") }

// Read returns the value; dir is the OutputSpec.Dir of the attempt. It returns an error if the file of a large
// value is missing or was changed.
func (o *Output) Read(dir string) (json.RawMessage, error) {
	if o.Digest == "" {
		return o.Value, nil
	}
	file := outputFile(dir, o.Digest)
	data, err := safefile.Read(file, MaxOutput)
	if err != nil {
		return nil, fmt.Errorf("reading an output: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != o.Digest {
		return nil, fmt.Errorf("reading an output: %s was changed", file)
	}
	return data, nil
}

// takeOutput validates the value that the work gave and keeps it in the result. Without a valid value the outcome is
// Wrong, with the words of the validator. If there is no value, why says why, unless offered is one that does not
// match.
func (t *attempt) takeOutput(value, offered []byte, why string) classification {
	wrong := func(format string, args ...any) classification {
		reason := fmt.Sprintf(format, args...)
		return classification{outcome: Wrong, reason: reason, detail: reason}
	}
	if t.req.Output.Lines {
		var err error
		if value, err = listOfLines(value); err != nil {
			return wrong("%s", err)
		}
	}
	s, err := jsonschema.Parse(t.req.Output.Schema)
	if err != nil {
		return classification{outcome: Broken, reason: "the schema of the output: " + err.Error()}
	}
	mismatch := func(value []byte) error {
		if err := s.Validate(value); err != nil {
			return fmt.Errorf("the output does not match its schema: %s", textfmt.Head(err.Error(), ReasonMax))
		}
		return nil
	}
	if value = bytes.TrimSpace(value); len(value) == 0 {
		if len(offered) > 0 && mismatch(offered) != nil {
			return wrong("%s", mismatch(offered))
		}
		return wrong("no output: %s", why)
	}
	if len(value) > MaxOutput {
		return wrong("the output is larger than %d bytes", MaxOutput)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, bytes.ToValidUTF8(value, []byte("\uFFFD"))); err != nil {
		return wrong("the output is not JSON: %s", err)
	}
	if err := mismatch(text.Bytes()); err != nil {
		return wrong("%s", err)
	}
	clean := text.Bytes()
	if t.Redactor != nil {
		clean = t.Redactor.Value(clean).([]byte)
	}
	if !json.Valid(clean) {
		return wrong("the output holds a secret outside of a string")
	}
	if t.res.Output, err = keepOutput(t.req.Output.Dir, clean); err != nil {
		return classification{outcome: Broken, reason: "keeping the output: " + err.Error()}
	}
	return classification{outcome: Done}
}

// listOfLines returns a JSON array as it is, and other text as the array of its lines. Text that is not UTF-8, such as
// the name of a file, would be another text in JSON.
func listOfLines(text []byte) ([]byte, error) {
	lines, n := []string{}, 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimRight(line, "\r\n"); !utf8.ValidString(line) {
			return nil, fmt.Errorf("line %d of the list, %q, is not UTF-8", n, textfmt.Head(line, ReasonMax))
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	var array []json.RawMessage
	if json.Unmarshal(text, &array) == nil && array != nil {
		return text, nil
	}
	return json.Marshal(lines)
}

// keepOutput returns the Output with a value. The file of a large one is durable when it returns.
func keepOutput(dir string, value []byte) (*Output, error) {
	if len(value) <= inlineOutput || dir == "" {
		return &Output{Value: value, Size: len(value)}, nil
	}
	sum := sha256.Sum256(value)
	if _, err := KeepFile(dir, value); err != nil {
		return nil, err
	}
	return &Output{Digest: hex.EncodeToString(sum[:]), Size: len(value)}, nil
}

// unfinished matches the files that KeepFile is writing.
const unfinished = ".next-*"

// RemoveUnfinished removes the files that a killed wavex was keeping in dir. No KeepFile may run meanwhile.
func RemoveUnfinished(dir string) error {
	entries, err := safefile.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if is, _ := filepath.Match(unfinished, e.Name()); is {
			err = errors.Join(err, safefile.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// KeepFile returns the path of a file in dir with a value. The file is durable when it returns. It is safe for
// concurrent use, also with the same value.
func KeepFile(dir string, value []byte) (path string, err error) {
	sum := sha256.Sum256(value)
	path = outputFile(dir, hex.EncodeToString(sum[:]))
	if old, err := safefile.Read(path, int64(len(value))+1); err == nil && bytes.Equal(old, value) {
		return path, safefile.SyncDir(dir) // a killed wavex may have renamed it
	}
	if err := safefile.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := safefile.CreateTemp(dir, unfinished)
	if err != nil {
		return "", err
	}
	_, err = f.Write(value)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = safefile.Rename(f.Name(), path)
	}
	if err != nil {
		_ = safefile.Remove(f.Name()) // best effort: the caller needs the first error
		return "", err
	}
	return path, errors.Join(safefile.SyncDir(dir), safefile.SyncDir(filepath.Dir(dir))) // dir may be new
}
