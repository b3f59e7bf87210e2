//go:build unix

package proc

import (
	"bytes"
	"strings"
	"testing"
)

func TestHasMark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mark, run, attempt string
		want               bool
	}{
		{"r", "r", "", true},
		{"r", "", "r/t/1", true},
		{"r/t/1", "r", "r/t/1", true},
		{"r/t/1", "r", "r/t/10", false},
		{"r/t/1", "r", "r/u/1", false},
		{"r", "rr", "rr/t/1", false},
		{"", "", "", false},
		{"", "r", "r/t/1", false},
	} {
		if got := hasMark(c.mark, c.run, c.attempt); got != c.want {
			t.Errorf("mark %q, run %q, attempt %q: %v", c.mark, c.run, c.attempt, got)
		}
	}
}

func FuzzParseMarks(f *testing.F) {
	f.Add([]byte("A=1\x00WAVEX_RUN=r\x00WAVEX_ATTEMPT=r/t/1\x00WAVEX_RUN=other\x00"))
	f.Add([]byte("WAVEX_RUN\x00=WAVEX_RUN=x\x00XWAVEX_RUN=y"))
	f.Fuzz(func(t *testing.T, b []byte) {
		env := bytes.Split(b, []byte{0})
		run, attempt := parseMarks(env)
		for name, got := range map[string]string{RunVar: run, AttemptVar: attempt} {
			found := false
			for _, kv := range env {
				found = found || string(kv) == name+"="+got
			}
			if got != "" && !found || strings.Contains(got, "\x00") {
				t.Errorf("%s is %q in %q", name, got, b)
			}
		}
	})
}
