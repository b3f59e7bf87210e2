package transcript_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"wavex/internal/transcript"
)

func TestLastEntry(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(stream, "\n")
	for name, tc := range map[string]struct {
		text string
		want transcript.Kind
		say  string
	}{
		"nothing":         {"", "", ""},
		"only answers":    {lines[2], "", ""},
		"a tool":          {lines[0] + lines[1] + lines[2], transcript.Tool, "/p/a.txt"},
		"half a line":     {lines[1] + lines[3][:40], transcript.Tool, "/p/a.txt"},
		"behind much":     {strings.Repeat(lines[2], 2000) + lines[5], transcript.Tool, "ls; false"},
		"out of sight":    {lines[5] + strings.Repeat(lines[2], 2000), "", ""},
		"a retry":         {lines[1] + lines[7], transcript.Retry, ""},
		"words and a use": {lines[3], transcript.Tool, "/p/a.txt"},
	} {
		tail, _, err := transcript.ReadTail(fstest.MapFS{"stream": {Data: []byte(tc.text)}}, "stream")
		e, ok := transcript.LastEntry(tail)
		if err != nil || ok != (tc.want != "") || e.Kind != tc.want || e.Target != tc.say {
			t.Errorf("%s: %+v, %v, %v", name, e, ok, err)
		}
	}
}
