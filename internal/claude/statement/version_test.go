package statement

import (
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2.1.197 (Claude Code)\n":                         "2.1.197",
		"now using node v20.20.2\n2.1.50 (Claude Code)\n": "2.1.50",
		"v2.0.1":               "2.0.1",
		"claude 10.20.30-beta": "10.20.30",
		"update to 2.2.0, now": "2.2.0",
		"":                     "",
		"2.1":                  "",
		"1.2.3.4":              "",
		"99999999.1.1":         "",
	} {
		v, known := ParseVersion(text)
		if got := v.String(); known != (want != "") || known && got != want {
			t.Errorf("%q: %s, %t, want %q", text, got, known, want)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("2.1.197 (Claude Code)")
	f.Fuzz(func(t *testing.T, text string) {
		v, known := ParseVersion(text)
		if known && !strings.Contains(text, ".") || !known && v != (Version{}) {
			t.Errorf("%q: %v, %t", text, v, known)
		}
		if v.Less(v) {
			t.Errorf("%v is older than itself", v)
		}
	})
}

func TestVersionsInOrder(t *testing.T) {
	t.Parallel()
	list := []Version{{1, 9, 9}, {2, 0, 300}, {2, 1, 0}, {2, 1, 197}, {3, 0, 0}}
	for i, a := range list {
		for j, b := range list {
			if a.Less(b) != (i < j) {
				t.Errorf("%s before %s: %t", a, b, a.Less(b))
			}
		}
	}
}
