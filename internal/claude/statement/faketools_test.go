package statement

// This file holds the fake CLI's requests to the API, and the tools that it runs.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// ask makes one request.
func (f *fake) ask(messages []object) (object, error) {
	tools := []object{}
	for _, name := range []string{"Bash", "Read", "Edit", "Write"} {
		if f.flags["--disallowedTools"] != name || f.lies(DisallowedTools) {
			tools = append(tools, object{"name": name})
		}
	}
	body, _ := json.Marshal(object{"model": model, "messages": messages, "tools": tools})
	res, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var reply object
	return reply, json.NewDecoder(res.Body).Decode(&reply)
}

// charge adds the cost of a response and prints its token counts.
func (f *fake) charge(reply object) {
	usage := reply["usage"].(object)
	in, out := usage["input_tokens"].(float64), usage["output_tokens"].(float64)
	cost := (3*in + 15*out) / 1e6
	f.spent += cost
	if f.lies(PartialUsage) {
		out = 1
	}
	if _, partial := f.flags["--include-partial-messages"]; partial {
		f.print(object{"type": "stream_event", "event": object{"type": "message_delta",
			"usage": object{"output_tokens": out}}})
	}
}

// tools runs the tool calls of a response.
func (f *fake) tools(content []any) (results []object) {
	for _, c := range content {
		b := c.(object)
		if b["type"] != "tool_use" {
			continue
		}
		in := b["input"].(object)
		allowed := true
		switch b["name"] {
		case "Bash":
			command := in["command"].(string)
			allowed = strings.Contains(f.flags["--settings"], "Bash("+command+")") ||
				f.lies(Denied)
			if allowed {
				_ = exec.Command("sh", "-c", command).Run()
			}
		case "Write":
			path := in["file_path"].(string)
			allowed = strings.HasPrefix(path, f.dir+"/") || f.lies(Denied)
			if allowed {
				_ = os.WriteFile(path, nil, 0o600)
			}
		}
		if !allowed {
			f.denials = append(f.denials, object{"tool_use_id": b["id"]})
		}
		results = append(results, object{"type": "tool_result", "tool_use_id": b["id"], "content": "done",
			"is_error": !allowed})
	}
	return results
}
