package claude

import (
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/policy"
	"wavex/internal/safefile"
)

// CutCalls returns the tool calls that had no result when wavex was killed, such as "Bash make", by the stream of the
// attempt, and the time of the stream's last line. Each of them may have run, wholly or in part.
func CutCalls(logDir string) (calls []string, last time.Time, err error) {
	in, err := safefile.Open(filepath.Join(logDir, loop.StreamFile))
	if err != nil {
		return nil, last, err
	}
	defer func() { _ = in.Close() }() // read only: nothing to lose
	if info, err := in.Stat(); err == nil {
		last = info.ModTime()
	}
	type call struct{ id, text string }
	var open []call
	err = (&stream{onLine: func(line []byte, _ bool) {
		o := jsonobject.Value(line)
		for _, b := range o.Get("message.content").Members() {
			switch id := b.Get("id").Text(); b.Get("type").Text() {
			case "tool_use":
				if !slices.ContainsFunc(open, func(c call) bool { return c.id == id }) {
					tool := policy.Call{Tool: b.Get("name").Text(), Input: b.Get("input")}
					open = append(open, call{id, tool.Tool + " " + policy.Target(tool)})
				}
			case "tool_result":
				open = slices.DeleteFunc(open, func(c call) bool { return c.id == b.Get("tool_use_id").Text() })
			}
		}
		if o.Get("type").Text() == "result" {
			open = nil
		}
	}}).run(in)
	for _, c := range open {
		calls = append(calls, c.text)
	}
	return calls, last, err
}
