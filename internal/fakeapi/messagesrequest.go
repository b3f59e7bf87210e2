package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one request that the server received. Its body is decoded on first use. The methods
// are safe for concurrent use.
type Request struct {
	Index  int       // order of arrival, from 0
	Time   time.Time // of arrival
	Method string
	Path   string // with its query
	Header http.Header
	Body   []byte

	once sync.Once
	msg  message
	err  error
}

// ToolResult is the outcome of one tool call, as the CLI sends it to the model.
type ToolResult struct {
	ID    string // the tool_use id it answers
	Text  string
	Error bool // is_error
}

type message struct {
	Model    string  `json:"model"`
	Stream   bool    `json:"stream"`
	System   content `json:"system"`
	Messages []turn  `json:"messages"`
	Tools    []tool  `json:"tools"`
}

type turn struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

type tool struct {
	Name string `json:"name"`
}

type block struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	Name      string  `json:"name"`
	ToolUseID string  `json:"tool_use_id"`
	Content   content `json:"content"`
	IsError   bool    `json:"is_error"`
}

// content is a string or a list of blocks; the API accepts both.
type content []block

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(c))
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (r *Request) decode() *message {
	r.once.Do(func() { r.err = json.Unmarshal(r.Body, &r.msg) })
	return &r.msg
}

// ToolID returns the id of the ith tool call in the answer to the request.
func (r *Request) ToolID(i int) string { return fmt.Sprintf("toolu_%04d_%d", r.Index, i) }

// Err returns the reason why the body is not a Messages request, or nil.
func (r *Request) Err() error { r.decode(); return r.err }

// Model returns the requested model.
func (r *Request) Model() string { return r.decode().Model }

// Streaming reports whether the request asks for server-sent events.
func (r *Request) Streaming() bool { return r.decode().Stream }

// System returns the text of the system prompt, its blocks joined by newlines.
func (r *Request) System() string { return r.decode().System.text() }

// Tools returns the names of the tools in the request.
func (r *Request) Tools() []string {
	var names []string
	for _, t := range r.decode().Tools {
		names = append(names, t.Name)
	}
	return names
}

// Offers reports whether the model may use a tool: it is in the request's list, or named on a
// line of its own in a message, like a tool that the CLI loads on request (observed on claude
// 2.1.330).
func (r *Request) Offers(tool string) bool {
	return slices.Contains(r.Tools(), tool) || bytes.Contains(r.Body, []byte(`\n`+tool+`\n`))
}

// FirstUser returns the text of the first user message: the prompt, and the CLI's additions to
// it. A resumed session keeps its first message.
func (r *Request) FirstUser() string {
	all := r.turns("user")
	return texts(all[:min(1, len(all))])
}

// LastUser returns the text of the last user message, without tool results.
func (r *Request) LastUser() string { return texts(r.lastUserTurn()) }

// Users returns the text of every user message, joined by newlines.
func (r *Request) Users() string { return texts(r.turns("user")) }

// Turn returns the number of the model's replies so far in this conversation: 0 in a new session.
// A retry of the CLI has the same Turn as the request that it repeats.
func (r *Request) Turn() int { return len(r.turns("assistant")) }

// ToolTurns returns the number of messages with results of tools that ran in this conversation.
// Unlike Turn it does not count the messages that the CLI itself adds in the model's name when it
// resumes a session that was cut off (observed on claude 2.1.330). Nor does it count the results that
// the CLI adds for calls without one (observed on claude 2.1.330).
func (r *Request) ToolTurns() int {
	n := 0
	for _, t := range r.decode().Messages {
		if slices.ContainsFunc(t.Content, func(b block) bool { return b.Type == "tool_result" && !b.cutOff() }) {
			n++
		}
	}
	return n
}

// cutOff reports whether a tool result only says that the session ended before the call did.
func (b block) cutOff() bool {
	return b.IsError && strings.HasPrefix(b.Content.text(), "[Tool call interrupted")
}

// ToolResults returns the results in the last user message, in order.
func (r *Request) ToolResults() (out []ToolResult) {
	for _, t := range r.lastUserTurn() {
		for _, b := range t.Content {
			if b.Type == "tool_result" {
				out = append(out, ToolResult{ID: b.ToolUseID, Text: b.Content.text(), Error: b.IsError})
			}
		}
	}
	return out
}

var uuidPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
})

// Session returns the CLI's session id, or "". The CLI (2.1.330) sends it as a header.
func (r *Request) Session() string {
	return uuidPattern().FindString(r.Header.Get("X-Claude-Code-Session-Id"))
}

// Dir returns the working directory that the CLI's system prompt names, or "".
func (r *Request) Dir() string {
	_, rest, _ := strings.Cut(r.System()+"\n"+r.FirstUser(), "orking directory: ") // after w or W
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// turns returns the messages of a role.
func (r *Request) turns(role string) []turn {
	return slices.DeleteFunc(slices.Clone(r.decode().Messages), func(t turn) bool { return t.Role != role })
}

// lastUserTurn returns the last message of the user, if there is one.
func (r *Request) lastUserTurn() []turn {
	all := r.turns("user")
	return all[max(0, len(all)-1):]
}

// texts returns the texts of messages, joined by newlines.
func texts(list []turn) string {
	var parts []string
	for _, t := range list {
		parts = append(parts, t.Content.text())
	}
	return strings.Join(parts, "\n")
}
