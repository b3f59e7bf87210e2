package fakeapi

import (
	"maps"
	"path/filepath"
	"strings"
	"time"
)

// Reply is the answer to one request, or to Count of them. The zero Reply is an empty message
// with a small usage.
type Reply struct {
	Text  string // a text block, before the tools
	Tools []Tool // tool_use blocks; the CLI runs all of them before its next request
	Usage Usage  // tokens charged; zero means 100 in, 20 out
	Stop  string // stop_reason; "" means tool_use if there are Tools, or else end_turn
	Model string // the model that answers; "" means the requested one

	// Status other than 0 and 200 makes the reply an error of that status.
	Status int
	// Message is the error's text.
	Message string
	// Header is added to the response, error or not.
	Header map[string]string

	// After counts the events (of a stream) written before Hold and Cut take
	// effect; 0 means before the response's headers. message_start is the first.
	After   int
	WaitFor *Latch // wait here until the test opens it
	Cut     bool   // then close the connection

	// Delay passes before the first byte. Prefer Hold.
	Delay time.Duration
	// Count is the number of requests that get this reply; 0 means 1.
	Count int
	// Compute, if not nil, computes the reply from the request; Count and Hold still come from the
	// outer reply. It is called in the request's own goroutine.
	Compute func(*Request) Reply
}

// Text returns a reply that ends the turn with text.
func Text(s string) Reply { return Reply{Text: s} }

// Use returns a reply that requests tools.
func Use(tools ...Tool) Reply { return Reply{Tools: tools} }

// Fail returns an error reply. Its type follows from the status as in the API.
func Fail(status int, message string) Reply { return Reply{Status: status, Message: message} }

// Computed returns a reply that do computes from the request.
func Computed(do func(*Request) Reply) Reply { return Reply{Compute: do} }

// WithUsage returns the reply with the usage u.
func (r Reply) WithUsage(u Usage) Reply { r.Usage = u; return r }

// WaitingFor returns the reply with a wait for g before its headers.
func (r Reply) WaitingFor(g *Latch) Reply { r.WaitFor = g; return r }

// WaitingAfter returns the reply with a wait for g after n events.
func (r Reply) WaitingAfter(n int, g *Latch) Reply { r.After, r.WaitFor = n, g; return r }

// CutAfter returns the reply cut off after n events.
func (r Reply) CutAfter(n int) Reply { r.After, r.Cut = n, true; return r }

// Times returns the reply for n requests.
func (r Reply) Times(n int) Reply { r.Count = n; return r }

// Tool is a tool_use block. A relative file_path is resolved against the CLI's working directory,
// so that a script need not know it.
type Tool struct {
	Name  string
	Input map[string]any
}

// Bash returns a call that runs a command.
func Bash(command string) Tool {
	return Tool{"Bash", map[string]any{"command": command, "description": "run " + first(command)}}
}

// Write returns a call that writes a whole file. The CLI refuses to overwrite a file that it has
// not read.
func Write(path, content string) Tool {
	return Tool{"Write", map[string]any{"file_path": path, "content": content}}
}

// Read returns a call that reads a file.
func Read(path string) Tool { return Tool{"Read", map[string]any{"file_path": path}} }

// Edit returns a call that replaces old, which must occur once, in a file that was read before.
func Edit(path, old, replacement string) Tool {
	return Tool{"Edit", map[string]any{"file_path": path, "old_string": old, "new_string": replacement}}
}

// StructuredOutput returns a call that answers a --json-schema.
func StructuredOutput(v map[string]any) Tool { return Tool{"StructuredOutput", v} }

func (t Tool) input(r *Request) map[string]any {
	in := map[string]any{}
	maps.Copy(in, t.Input)
	if p, ok := in["file_path"].(string); ok && !filepath.IsAbs(p) {
		in["file_path"] = filepath.Join(r.Dir(), p)
	}
	return in
}

func first(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return "nothing"
}
