// Package transcript reads an attempt's stream.jsonl for people: the agent's words, its tool calls
// with their answers, and its edits. It knows the form of the CLI's lines and nothing of runs. It
// trusts no input; the caller must clean the texts before showing them.
package transcript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/jsonobject"
)

// Kind is the kind of an Entry.
type Kind string

// The kinds of entries.
const (
	Init       Kind = "init"     // the agent began: its version and model
	Text       Kind = "text"     // words of the agent
	Thinking   Kind = "thinking" // the agent's thinking
	Tool       Kind = "tool"     // a tool call
	ToolAnswer Kind = "answer"   // the answer of a tool
	ToAgent    Kind = "told"     // text sent to the agent: a prompt, a reminder
	Retry      Kind = "retry"    // the CLI repeats an API request
	Limit      Kind = "limit"    // the CLI reports a usage limit
	End        Kind = "end"      // the agent's turn ended
	NonJSON    Kind = "stray"    // a line that is not JSON: the CLI's own words
)

// Entry is one entry of an attempt's stream. All texts are untrusted.
type Entry struct {
	Kind     Kind
	Subagent bool     // of a subagent
	Tool     string   // its name
	Target   string   // a path, a command or a pattern; of Init: the working directory
	Text     string   // words, an answer, or the reason of the end
	Failed   bool     // an answer or an end that is an error
	Patch    []Change // of an answer: its edits
}

// Reader reads a growing stream line by line. The zero value is ready to use.
type Reader struct {
	calls map[string]pendingCall // by id, until answered
}

type pendingCall struct {
	tool, target string
	patch        []Change // the edits in the call's own input
}

// Line parses one line and returns its entries. It keeps no part of line.
func (r *Reader) Line(line []byte) []Entry {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if line[0] != '{' || !jsonobject.Value(line).IsValid() {
		return []Entry{{Kind: NonJSON, Text: string(line)}}
	}
	o := jsonobject.Value(line)
	var out []Entry
	switch o.Get("type").Text() {
	case "system":
		out = systemEntries(o)
	case "assistant":
		out = r.assistant(o)
	case "user":
		out = r.user(o)
	case "rate_limit_event":
		l := o.Get("rate_limit_info")
		out = []Entry{{Kind: Limit, Text: joinWords(l.Get("rateLimitType").Text(), l.Get("status").Text()),
			Failed: l.Get("status").Text() == "rejected"}}
	case "result":
		out = []Entry{endEntry(o)}
	}
	inner := o.Get("parent_tool_use_id").Text() != ""
	for i := range out {
		out[i].Subagent = inner
	}
	return out
}

func systemEntries(o jsonobject.Value) []Entry {
	switch o.Get("subtype").Text() {
	case "init":
		return []Entry{{Kind: Init, Target: o.Get("cwd").Text(), Text: joinWords("claude",
			o.Get("claude_code_version").Text(), o.Get("model").Text())}}
	case "api_retry":
		return []Entry{{Kind: Retry, Failed: true, Text: fmt.Sprintf("%s, try %d of %d in %s",
			joinWords(string(o.Get("error_status")), o.Get("error").Text()), o.Get("attempt").Int(), o.Get("max_retries").Int(),
			time.Duration(o.Get("retry_delay_ms").Int())*time.Millisecond)}}
	}
	return nil
}

func (r *Reader) assistant(o jsonobject.Value) (out []Entry) {
	for _, b := range o.Get("message.content").Members() {
		switch b.Get("type").Text() {
		case string(Text), string(Thinking): // the block has its text in a field of its type's name
			kind := b.Get("type").Text()
			if t := b.Get(kind).String(); strings.TrimSpace(t) != "" {
				out = append(out, Entry{Kind: Kind(kind), Text: t})
			}
		case "tool_use":
			c := pendingCall{tool: b.Get("name").String(), target: callTarget(b.Get("input")), patch: inputChanges(b)}
			id := b.Get("id").String()
			if r.calls == nil {
				r.calls = map[string]pendingCall{}
			}
			if len(r.calls) < 10_000 { // a stream without answers must not fill the memory
				r.calls[id] = c
			}
			out = append(out, Entry{Kind: Tool, Tool: c.tool, Target: c.target})
		}
	}
	return out
}

func (r *Reader) user(o jsonobject.Value) (out []Entry) {
	content := o.Get("message.content")
	if content.Kind() == '"' {
		return []Entry{{Kind: ToAgent, Text: content.Text()}}
	}
	told := o.Get("tool_use_result")
	for _, b := range content.Members() {
		switch b.Get("type").Text() {
		case "text":
			out = append(out, Entry{Kind: ToAgent, Text: b.Get("text").String()})
		case "tool_result":
			id := b.Get("tool_use_id").String()
			c := r.calls[id]
			delete(r.calls, id)
			e := Entry{Kind: ToolAnswer, Tool: c.tool, Target: c.target, Text: flattenAnswer(b.Get("content")),
				Failed: b.Get("is_error").Bool()}
			if !e.Failed {
				e.Patch = answerChanges(told, c.patch)
			}
			out = append(out, e)
		}
	}
	return out
}

func endEntry(o jsonobject.Value) Entry {
	e := Entry{Kind: End, Failed: o.Get("is_error").Bool() || o.Get("subtype").Text() != "success"}
	e.Text = joinWords(o.Get("subtype").Text(), fmt.Sprintf("after %d turns, $%.4f", o.Get("num_turns").Int(),
		o.Get("total_cost_usd").Float()))
	if s := o.Get("api_error_status").Int(); s != 0 {
		e.Text += fmt.Sprintf(", API status %d", s)
	}
	if e.Failed {
		if t := strings.TrimSpace(o.Get("result").String()); t != "" {
			e.Text += "\n" + t
		}
		for _, w := range o.Get("errors").Members() {
			e.Text += "\n" + w.String()
		}
	}
	return e
}

// callTarget returns the subject of a tool call: the first known input, such as a path or a command.
func callTarget(input jsonobject.Value) string {
	for _, k := range []string{"file_path", "notebook_path", "command", "pattern", "url", "query", "description",
		"path", "prompt"} {
		if s := input.Get(k).Text(); s != "" {
			return s
		}
	}
	return ""
}

// flattenAnswer returns a tool's answer as text: a string, or the texts of a list of blocks.
func flattenAnswer(content jsonobject.Value) string {
	if content.Kind() != '[' {
		return content.String()
	}
	var parts []string
	for _, b := range content.Members() {
		if t := b.Get("text"); t != nil {
			parts = append(parts, t.String())
		} else {
			parts = append(parts, "("+b.Get("type").String()+")")
		}
	}
	return strings.Join(parts, "\n")
}

func joinWords(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(w string) bool { return w == "" || w == "null" }), " ")
}
