package hook

import "encoding/json"

// Formats are the contracts of Stop hooks that Render writes. Claude is the one that
// the CLI obeys (LEDGER C24); ok is what the model of a prompt hook answers, gsd that of
// another tool.
var formats = []string{"claude", "ok", "gsd"}

// Formats lists the names that Render takes.
func Formats() []string { return append([]string(nil), formats...) }

// Render writes a verdict as the output of a Stop hook; it is empty where letting go
// needs no words.
func Render(v Verdict, format string) []byte {
	var out any
	switch {
	case format == "ok" && v.Hold:
		out = okAnswer{false, v.Reason}
	case format == "ok":
		out = okAnswer{true, v.Why}
	case format == "gsd" && v.Hold:
		out = gsdAnswer{"block", v.Reason}
	case format == "gsd":
		out = gsdAnswer{"allow", ""}
	case v.Hold:
		out = stopAnswer{"block", v.Reason, "wavex: " + v.Why + "; the session goes on"}
	default:
		return nil
	}
	return line(out)
}

type okAnswer struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

type gsdAnswer struct {
	Decision string `json:"decision"`
	Prompt   string `json:"prompt,omitempty"`
}

// stopAnswer is observed on claude 2.1.197: the reason reaches the model as the next
// user turn, the system message only the user.
type stopAnswer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	System   string `json:"systemMessage"`
}

// RenderContext writes what a SessionStart hook adds to a session; empty for nothing.
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
	return line(out)
}

func line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // strings and booleans always encode
	}
	return append(b, '\n')
}
