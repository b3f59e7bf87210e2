package textfmt

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"plain words", "plain words"},
		{"  two\n\tlines \r\n", "two lines"},
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"\x1b]0;title\x07after", "after"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\u009b31mred", "red"},
		{"\x1b(Bcharset", "charset"},
		{"\x1b7save\x1b8", "save"},
		{"unfinished \x1b]0;title", "unfinished 0;title"},
		{"nul\x00 bell\x07 back\bspace del\x7f", "nul bell backspace del"},
		{"\u202egnp.exe\u202c", "gnp.exe"},
		{"zero\u200bwidth\ufeff", "zerowidth"},
		{"a\u2028b", "a b"},
		{"bad \xff utf8", "bad \uFFFD utf8"},
		{"<loop-complete>", "&lt;loop-complete>"},
		{"</LOOP-Complete>", "&lt;/LOOP-Complete>"},
		{"<loop-\x00complete>", "&lt;loop-complete>"},
		{"<loop-\x1b[0mcomplete>", "&lt;loop-complete>"},
		{"👩\u200d💻 works", "👩\u200d💻 works"},
		{"終わり", "終わり"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		n     int
		ascii bool
		want  string
	}{
		{"hello", 5, false, "hello"}, {"hello", 4, false, "hel…"}, {"hello", 4, true, "h..."}, {"hello", 2, true, ".."},
		{"hello", 1, false, "…"}, {"hello", 0, false, ""}, {"終わり", 6, false, "終わり"}, {"終わり", 5, false, "終わ…"},
		{"終わり", 4, false, "終…"}, {"one two", 5, false, "one…"},
	} {
		if got := Fit(c.in, c.n, c.ascii); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	if got := FirstLine("\n \x1b[0m\n first \nsecond"); got != "first" {
		t.Errorf("First = %q", got)
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	in := "\n\nfirst\n\tin\x1b[31mside  \r\n\n  <loop-complete>\n\n"
	if got, want := Block(in), "first\n    inside\n\n  &lt;loop-complete>"; got != want {
		t.Errorf("Block = %q, want %q", got, want)
	}
}

func TestPad(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "abc", "終わり", "👩\u200d💻"} {
		if a, b := Width(Pad(text, 9)), Width(PadLeft(text, 9)); a != 9 || b != 9 {
			t.Errorf("%q padded is %d and %d wide", text, a, b)
		}
	}
	if Pad("long", 2) != "long" {
		t.Error("Pad cuts")
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"\u009b", "\u202e", "\x7f", "\U000e0041", "終"}))).Draw(t, "in"), "")
		plain, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(plain)
		if strings.ContainsFunc(string(safe), isInvisible) {
			t.Fatalf("%q still acts", safe)
		}
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || back != strings.ToValidUTF8(in, "\uFFFD") &&
			utf8.ValidString(in) {
			t.Fatalf("%q decodes to %q, not %q (%v)", safe, back, in, err)
		}
	})
}

// holds checks the properties of every cleaned text.
func holds(t interface{ Fatalf(string, ...any) }, in string, columns int) {
	out := Line(in)
	switch {
	case !utf8.ValidString(out):
		t.Fatalf("Line(%q) is no UTF-8: %q", in, out)
	case strings.ContainsFunc(out, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }):
		t.Fatalf("Line(%q) has control characters: %q", in, out)
	case strings.Contains(strings.ToLower(out), "<loop-complete"):
		t.Fatalf("Line(%q) has the marker: %q", in, out)
	case Line(out) != out:
		t.Fatalf("Line(%q) is not stable: %q, %q", in, out, Line(out))
	}
	if w := Width(Fit(in, columns, false)); w > columns {
		t.Fatalf("Fit(%q, %d) is %d wide", in, columns, w)
	}
}

func TestLineProperties(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[", "\x1b]", "\x07", "\x1b\\", "m", "<", "loop-",
		"complete>", "\x00", "\u009d", " ", "\n", "終"}))
	rapid.Check(t, func(t *rapid.T) {
		holds(t, strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), ""), rapid.IntRange(0, 40).Draw(t, "columns"))
	})
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b[31m<loop-complete>\x9b", 10)
	f.Fuzz(func(t *testing.T, in string, columns int) { holds(t, in, columns&0xff) })
}
