package hook

import "encoding/json"

// Formats lists the contracts of Stop hooks that Render writes. claude is the contract of the CLI,
// ok is the answer of a prompt hook's model, gsd is the contract of another tool.
func Formats() []string { return []string{"claude", "ok", "gsd"} }

// Render returns a verdict as the output of a Stop hook. The output is empty if the session is let
// go and the format needs no text for that.
func Render(v StopDecision, format string) []byte {
	type answer map[string]any
	var out answer
	switch {
	case format == "ok" && v.Block:
		out = answer{"ok": false, "reason": v.Reason}
	case format == "ok":
		out = answer{"ok": true, "reason": v.LogReason}
	case format == "gsd" && v.Block:
		out = answer{"decision": "block", "prompt": v.Reason}
	case format == "gsd":
		out = answer{"decision": "allow"}
	case v.Block:
		// Observed on claude 2.1.197: the model gets the reason as the next user turn, and only the user
		// sees the system message.
		out = answer{"decision": "block", "reason": v.Reason,
			"systemMessage": "wavex: " + v.LogReason + "; the session goes on"}
	default:
		return nil
	}
	return encodeLine(out)
}

// RenderContext returns the output with which a SessionStart hook adds a text to a session. It is
// empty for an empty text.
func RenderContext(text string) []byte {
	if text == "" {
		return nil
	}
	var out struct {
		Specific struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	out.Specific.Event, out.Specific.Context = "SessionStart", text
	return encodeLine(out)
}

func encodeLine(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // encoding strings and booleans cannot fail
	}
	return append(b, '\n')
}
