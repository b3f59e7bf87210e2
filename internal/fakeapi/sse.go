package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// event is one server-sent event of a streamed message.
type event struct {
	name string
	data any
}

type object = map[string]any

// resolvedReply is a reply completed for one request.
type resolvedReply struct {
	id     string
	model  string
	stop   string
	usage  Usage
	blocks []object
}

func resolveReply(reply Reply, r *Request) resolvedReply {
	a := resolvedReply{id: fmt.Sprintf("msg_%04d", r.Index), model: reply.Model, stop: reply.Stop, usage: reply.Usage}
	if a.model == "" {
		a.model = r.Model()
	}
	if a.usage == (Usage{}) {
		a.usage = defaultUsage
	}
	if a.stop == "" {
		a.stop = "end_turn"
		if len(reply.Tools) > 0 {
			a.stop = "tool_use"
		}
	}
	if reply.Text != "" || len(reply.Tools) == 0 {
		a.blocks = append(a.blocks, object{"type": "text", "text": reply.Text})
	}
	for i, t := range reply.Tools {
		a.blocks = append(a.blocks, object{"type": "tool_use", "id": r.ToolID(i),
			"name": t.Name, "input": t.input(r)})
	}
	return a
}

// startUsage returns the usage in message_start: all input, and the one token of output that the API
// counts at that time.
func (a resolvedReply) startUsage() Usage {
	u := a.usage
	u.Output = min(u.Output, 1)
	return u
}

func (u Usage) object() object {
	return object{"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation":  object{"ephemeral_1h_input_tokens": u.CacheHour},
		"server_tool_use": object{"web_search_requests": u.Searches}, "inference_geo": u.Geo}
}

func (a resolvedReply) message(content []object, stop any, u Usage) object {
	return object{"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": u.object()}
}

// events returns the answer as a stream. Long texts and inputs come in two deltas, to expose a
// reader that takes the first for the whole.
func (a resolvedReply) events() []event {
	evs := []event{{"message_start", object{"type": "message_start",
		"message": a.message([]object{}, nil, a.startUsage())}}}
	for i, b := range a.blocks {
		start, field, whole := object{"type": "text", "text": ""}, "text", ""
		kind := "text_delta"
		if b["type"] == "tool_use" {
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			kind, field = "input_json_delta", "partial_json"
			data, _ := json.Marshal(b["input"]) // maps of strings, numbers and such cannot fail
			whole = string(data)
		} else {
			whole = b["text"].(string)
		}
		evs = append(evs, event{"content_block_start", object{"type": "content_block_start", "index": i,
			"content_block": start}})
		for _, part := range splitHalf(whole) {
			evs = append(evs, event{"content_block_delta", object{"type": "content_block_delta", "index": i,
				"delta": object{"type": kind, field: part}}})
		}
		evs = append(evs, event{"content_block_stop", object{"type": "content_block_stop", "index": i}})
	}
	return append(evs,
		event{"message_delta", object{"type": "message_delta",
			"delta": object{"stop_reason": a.stop, "stop_sequence": nil}, "usage": a.usage.object()}},
		event{"message_stop", object{"type": "message_stop"}})
}

// splitHalf cuts s at the start of a rune.
func splitHalf(s string) []string {
	for i := range s {
		if i >= 8 && i >= len(s)/2 {
			return []string{s[:i], s[i:]}
		}
	}
	return []string{s}
}

func (e event) write(w http.ResponseWriter) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", e.name, err)
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// errorType returns the API's name for a status.
func errorType(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}
