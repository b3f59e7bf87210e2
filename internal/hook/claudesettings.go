package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
)

// This file adds the hooks of wavex to the text of a Claude Code settings file, and removes them.
// It knows JSON and the form of hooks there, and nothing of files. All other content keeps its
// bytes, its order and its keys; a consistent indentation is kept.

// SettingsError is the reason and the position of a failed edit of settings.
type SettingsError struct {
	Line, Column int // from 1; 0: the whole text
	Reason       string
}

func (e *SettingsError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason)
}

// handler is one command of a hook. If it has args, the CLI starts it without a shell (observed on
// claude 2.1.330), so no path needs quoting on any system.
type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout int      `json:"timeout"` // seconds
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// hookEvents lists the hooks of wavex by event.
var hookEvents = []struct{ event, verb string }{{"Stop", "stop"}, {"SessionStart", "session-start"}}

// Install adds the hooks of wavex, with command as the program. If they exist, under whatever path,
// it updates them. Empty text stands for an empty file. If nothing changes, the result is text
// itself.
func Install(text []byte, command string) ([]byte, error) {
	return editSettings(text, func(doc jsonobject.Value) jsonobject.Value {
		for _, w := range hookEvents {
			found := findHandlers(doc, w.event, w.verb)
			if len(found) == 0 {
				doc = setValue(doc, "hooks."+w.event+".-1", group{[]handler{
					{"command", command, []string{"hook", w.verb}, 10}}})
				continue
			}
			// Keep the user's changes beside it, such as the timeout.
			at := found[len(found)-1]
			doc = setValue(doc, at.jsonPath()+".command", command)
			doc = setValue(doc, at.jsonPath()+".args", []string{"hook", w.verb})
			doc = removeHandlers(doc, found[:len(found)-1])
		}
		return doc
	})
}

// Uninstall removes the hooks of wavex, and the groups and keys that become empty.
func Uninstall(text []byte) ([]byte, error) {
	return editSettings(text, func(doc jsonobject.Value) jsonobject.Value {
		for _, w := range hookEvents {
			found := findHandlers(doc, w.event, w.verb)
			if len(found) == 0 {
				continue
			}
			doc = removeHandlers(doc, found)
			for _, path := range []string{"hooks." + w.event, "hooks"} {
				if v := doc.Get(path); v != nil && v.Len() == 0 {
					doc = doc.With(path, nil)
				}
			}
		}
		return doc
	})
}

// handlerPath is the position of a wavex handler: hooks.EVENT[group].hooks[index].
type handlerPath struct{ event, group, index string }

func (p handlerPath) jsonPath() string {
	return fmt.Sprintf("hooks.%s.%s.hooks.%s", p.event, p.group, p.index)
}

// findHandlers returns the wavex handlers of an event, the last first, so that removing one does not move
// the next.
func findHandlers(doc jsonobject.Value, event, verb string) []handlerPath {
	var found []handlerPath
	for g, one := range doc.Get("hooks." + event).Members() {
		for i, h := range one.Get("hooks").Members() {
			if isOurHandler(h, verb) {
				found = append(found, handlerPath{event, g, i})
			}
		}
	}
	slices.Reverse(found)
	return found
}

// isOurHandler reports whether h is a handler of wavex. It knows both forms: with args, and as a shell
// line that a user may have written by hand.
func isOurHandler(h jsonobject.Value, verb string) bool {
	words := []string{h.Get("command").String()}
	if args := h.Get("args"); args.Kind() == '[' {
		for _, a := range args.Members() {
			words = append(words, a.String())
		}
	} else if i := strings.LastIndex(words[0], " hook "+verb); i >= 0 {
		words = append([]string{words[0][:i]}, strings.Fields(words[0][i:])...)
	}
	return len(words) > 2 && isWavex(words[0]) && words[1] == "hook" && words[2] == verb
}

// isWavex reports whether a word is the path of a wavex.
func isWavex(word string) bool {
	word = strings.Trim(word, `"'`)
	return strings.TrimSuffix(word[strings.LastIndexAny(word, `/\`)+1:], ".exe") == "wavex"
}

// removeHandlers removes handlers, the last first, and groups that become empty.
func removeHandlers(doc jsonobject.Value, list []handlerPath) jsonobject.Value {
	for _, p := range list {
		path := p.jsonPath()
		if one := fmt.Sprintf("hooks.%s.%s", p.event, p.group); doc.Get(one+".hooks").Len() == 1 {
			path = one
		}
		doc = doc.With(path, nil)
	}
	return doc
}

// setValue returns doc with strings, numbers and lists of them at a path.
func setValue(doc jsonobject.Value, path string, value any) jsonobject.Value {
	raw, _ := json.Marshal(value) // it cannot fail
	if bytes.Equal(doc.Get(path), raw) {
		return doc
	}
	return doc.With(path, raw)
}

// editSettings changes the text of a settings file and keeps its form: a byte order mark, line ends, and
// the indentation if it is consistent.
func editSettings(text []byte, change func(doc jsonobject.Value) jsonobject.Value) ([]byte, error) {
	doc := bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = []byte("{}\n")
	}
	if err := checkEditable(doc); err != nil {
		return nil, err
	}
	out := []byte(change(doc))
	if bytes.Equal(out, doc) {
		return text, nil
	}
	if unit, ok := indentation(doc); ok {
		out, _ = indent(out, unit) // it is JSON
	}
	if bytes.HasSuffix(doc, []byte("\n")) {
		out = append(bytes.TrimRight(out, "\r\n"), '\n')
	}
	if bytes.Contains(doc, []byte("\r\n")) {
		out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		out = append([]byte(byteOrderMark), out...)
	}
	return out, nil
}

const byteOrderMark = "\ufeff"

// indentation returns the unit by which the whole document is indented. ok is false if the document
// has no indentation, or several.
func indentation(doc []byte) (unit string, ok bool) {
	plain := bytes.TrimSpace(bytes.ReplaceAll(doc, []byte("\r\n"), []byte("\n")))
	unit = "  "
	if i := bytes.IndexByte(plain, '\n'); i >= 0 {
		rest := plain[i+1:]
		unit = string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
	}
	same, err := indent(plain, unit)
	return unit, err == nil && bytes.Equal(same, plain)
}

// indent changes white space only: strings and numbers keep their spelling.
func indent(doc []byte, unit string) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, bytes.TrimSpace(doc), "", unit)
	return b.Bytes(), err
}

// checkEditable refuses text that is not JSON, and settings with another type where hooks belong. It
// also refuses a name that occurs twice: the CLI takes the last one, but an edit might change the
// first.
func checkEditable(doc []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(doc))
	for {
		if d.StackDepth() == 0 && d.InputOffset() > 0 {
			if rest := bytes.TrimLeft(doc[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return errorAt(doc, int64(len(doc)-len(rest)), "something stands behind the settings")
			}
		}
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			at := d.InputOffset()
			var bad *jsontext.SyntacticError
			reason := err.Error()
			if errors.As(err, &bad) {
				at, reason = bad.ByteOffset, bad.Err.Error()
				if bad.JSONPointer != "" {
					reason += " at " + string(bad.JSONPointer)
				}
			}
			return errorAt(doc, at, "not valid JSON: "+reason)
		}
	}
	top := jsonobject.Value(doc)
	if top.Kind() != '{' {
		return &SettingsError{Line: 1, Column: 1, Reason: "settings are a JSON object"}
	}
	hooks := top.Get("hooks")
	if hooks != nil && hooks.Kind() != '{' {
		return errorAt(doc, int64(top.At(hooks)), `"hooks" is not an object`)
	}
	for _, w := range hookEvents {
		event := hooks.Get(w.event)
		if event != nil && event.Kind() != '[' {
			return errorAt(doc, int64(top.At(event)), fmt.Sprintf("hooks.%s is not an array", w.event))
		}
	}
	return nil
}

// errorAt returns an error at a byte of the text.
func errorAt(doc []byte, offset int64, reason string) error {
	before := doc[:min(max(offset, 0), int64(len(doc)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	return &SettingsError{line, column, reason}
}
