package textfmt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wavex/internal/textfmt"
)

// For any sequence of writes an excerpt is bounded, valid UTF-8, starts and ends like the text,
// and equals the text if that fits.
func TestExcerptProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(96, 400).Draw(t, "max")
		pieces := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("abcé世\n")), 0, 300, -1)).Draw(t, "pieces")
		e := textfmt.Excerpt{Max: limit}
		for _, p := range pieces {
			if n, err := e.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		all, got := strings.Join(pieces, ""), e.String()
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes, limit %d, valid %v", len(got), limit, utf8.ValidString(got))
		}
		if len(all) <= limit {
			if got != strings.TrimRight(all, " \t\r\n") {
				t.Fatalf("short text changed: %q to %q", all, got)
			}
			return
		}
		head, rest, ok := strings.Cut(got, "\n... ")
		_, tail, ok2 := strings.Cut(rest, " bytes left out ...\n")
		if !ok || !ok2 || !strings.HasPrefix(all, head) || !strings.HasSuffix(strings.TrimRight(all, "\n"), tail) {
			t.Fatalf("not head and tail of the text: %q", got)
		}
	})
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{" a\n b\t c ", 20, "a b c"},
		{"abcdefgh", 6, "abc..."},
		{"世世世", 8, "世..."},
		{"a\xffb", 9, "a?b"},
	} {
		if got := textfmt.OneLine(tc.in, tc.n); got != tc.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
}

// A cut leaves no partial word, because a partial key is not recognised as a secret. Only a word
// longer than longWord is cut.
func TestExcerptKeepsWordsWhole(t *testing.T) {
	t.Parallel()
	key := "sk-" + strings.Repeat("k", 100)
	for n := range 300 {
		for _, text := range []string{
			strings.Repeat("a", n) + " " + key + " " + strings.Repeat("word ", 200),
			strings.Repeat("word ", 200) + "\n" + key + "\n" + strings.Repeat("z", n),
		} {
			if got := textfmt.ExcerptOf(text, 600); strings.Contains(got, "k") && !strings.Contains(got, key) {
				t.Fatalf("%d: %q", n, got)
			}
		}
	}
	if got := textfmt.ExcerptOf(strings.Repeat("x", 5000), 600); len(got) < 500 {
		t.Errorf("of a long word: %q", got)
	}
}

// The tail of a long text stays, wherever the cut falls: errors are at the end of an output.
func TestExcerptKeepsTheTail(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		text := strings.Repeat("word ", 200) + strings.Repeat("z", n) + "\nsum.go:3: want 5, got 6\nFAIL"
		if got := textfmt.ExcerptOf(text, 300); !strings.HasSuffix(got, "\nsum.go:3: want 5, got 6\nFAIL") {
			t.Fatalf("%d: %q", n, got)
		}
	}
}
