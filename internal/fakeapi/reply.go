package fakeapi

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Reply is what one request, or Times of them, gets. The zero Reply is an empty
// message with a small usage.
type Reply struct {
	Text  string // a text block, before the tools
	Tools []Tool // tool_use blocks; the CLI runs them all before it asks again
	Usage Usage  // tokens charged; zero: 100 in, 20 out
	Stop  string // stop_reason; "": tool_use when there are Tools, else end_turn
	Model string // the model that answers; "": the one asked

	// Status other than 0 and 200 makes the reply an error of that status.
	Status int
	// Message is the error's text.
	Message string
	// Header is added to the response, error or not.
	Header map[string]string

	// After counts the events (of a stream) written before Hold and Cut take
	// effect; 0 means before the response's headers. message_start is the first.
	After int
	Hold  *Gate // wait here until the test opens it
	Cut   bool  // then close the connection

	// Delay passes before the first byte. Prefer Hold.
	Delay time.Duration
	// Count is the number of requests that get this reply; 0 means 1.
	Count int
	// Do, when set, makes the reply from the request; Count and Hold are still taken
	// from the outer one. Called in the request's own goroutine.
	Do func(*Request) Reply
}

// Text is a reply that ends the turn with words.
func Text(s string) Reply { return Reply{Text: s} }

// Use is a reply that asks for tools.
func Use(tools ...Tool) Reply { return Reply{Tools: tools} }

// Fail is an error reply, its type derived from the status as the API does.
func Fail(status int, message string) Reply { return Reply{Status: status, Message: message} }

// From computes the reply from the request.
func From(do func(*Request) Reply) Reply { return Reply{Do: do} }

// UsageLimit is the 429 of a subscription whose window (claim, such as "five_hour")
// is spent until reset. The CLI (2.1.197) reads it from these headers and does not
// retry.
func UsageLimit(claim string, reset time.Time) Reply {
	r := Fail(429, "This request would exceed your account's rate limit.")
	r.Header = Unified("rejected", claim, reset)
	return r
}

// Unified makes the anthropic-ratelimit-unified headers; status is "allowed",
// "allowed_warning" or "rejected".
func Unified(status, claim string, reset time.Time) map[string]string {
	window := map[string]string{"five_hour": "5h", "seven_day": "7d"}[claim]
	const p = "anthropic-ratelimit-unified-"
	at := strconv.FormatInt(reset.Unix(), 10)
	h := map[string]string{
		p + "status": status, p + "reset": at, p + "representative-claim": claim,
		p + "overage-status": "rejected",
	}
	if window != "" {
		h[p+window+"-status"] = status
		h[p+window+"-reset"] = at
		if status == "rejected" {
			h[p+window+"-utilization"] = "1.0"
		} else {
			h[p+window+"-utilization"] = "0.9"
		}
	}
	return h
}

// Costing sets the reply's usage.
func (r Reply) Costing(u Usage) Reply { r.Usage = u; return r }

// Held makes the reply wait for g before its headers.
func (r Reply) Held(g *Gate) Reply { r.Hold = g; return r }

// HeldAfter makes the reply wait for g after n events.
func (r Reply) HeldAfter(n int, g *Gate) Reply { r.After, r.Hold = n, g; return r }

// CutAfter closes the connection after n events.
func (r Reply) CutAfter(n int) Reply { r.After, r.Cut = n, true; return r }

// Times answers n requests with the same reply.
func (r Reply) Times(n int) Reply { r.Count = n; return r }

// Headed adds headers to those the reply has.
func (r Reply) Headed(h map[string]string) Reply {
	all := map[string]string{}
	maps.Copy(all, r.Header)
	maps.Copy(all, h)
	r.Header = all
	return r
}

// Tool is a tool_use block. A file_path that is not absolute is resolved against the
// directory the CLI says it works in, so that a script need not know it.
type Tool struct {
	Name  string
	Input map[string]any
}

// Bash runs a command.
func Bash(command string) Tool {
	return Tool{"Bash", map[string]any{"command": command, "description": "run " + first(command)}}
}

// Write writes a whole file. The CLI refuses to overwrite a file it has not read.
func Write(path, content string) Tool {
	return Tool{"Write", map[string]any{"file_path": path, "content": content}}
}

// Read reads a file.
func Read(path string) Tool { return Tool{"Read", map[string]any{"file_path": path}} }

// Edit replaces old, which must occur once, in a file that was read before.
func Edit(path, old, replacement string) Tool {
	return Tool{"Edit", map[string]any{"file_path": path, "old_string": old, "new_string": replacement}}
}

// TaskCreate adds to the CLI's task list.
func TaskCreate(subject, description string) Tool {
	return Tool{"TaskCreate", map[string]any{"subject": subject, "description": description}}
}

// StructuredOutput answers a --json-schema.
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
