package page

import (
	"strconv"
	"strings"
	"testing"
)

func TestMarkup(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                     "",
		"plain\nwords":         `(p "plain\nwords")`,
		"# Done\n\n### Less":   `(h5 "Done")(h6 "Less")`,
		"a *b* **c** `d` ~e~":  `(p "a "(em "b")" "(strong "c")" "(code "d")" "(del "e"))`,
		"- [x] one\n- two":     `(ul (li "[x] one")(li "two"))`,
		"1. one":               `(ol (li "one"))`,
		"```go\nx := <1>\n```": `(pre "x := <1>")`,
		"|a|b|\n|-|-|\n|1|2|":  `(table (tr (td "a")(td "b"))(tr (td "1")(td "2")))`,
		"[t](https://a.b/c)":   `(p (a=https://a.b/c "t"))`,
		"https://a.b/c":        `(p (a=https://a.b/c "https://a.b/c"))`,
		// Addresses that are not of the web, images and HTML stay text.
		"[t](javascript:alert(1)) [u](data:x) [v](//x)": `(p "t ""u ""v")`,
		"![seen](https://a.b/c.png)":                    `(p "seen")`,
		"a <b onclick=x>c</b>":                          `(p "a <b onclick=x>c</b>")`,
		"<script>alert(1)</script>":                     `(pre "<script>alert(1)</script>")`,
	} {
		if got := describe(newMarkup(source)); got != want {
			t.Errorf("%q gives %s, want %s", source, got, want)
		}
	}
}

// describe writes a tree in a short form.
func describe(list []Markup) (out string) {
	for _, m := range list {
		text := ""
		if m.Text != "" {
			text = strconv.Quote(m.Text)
		}
		if text += describe(m.Kids); m.Tag != "" {
			name := m.Tag
			if m.URL != "" {
				name += "=" + m.URL
			}
			text = "(" + name + " " + text + ")"
		}
		out += text
	}
	return out
}

// Deep nesting is cut, and no word is lost.
func TestMarkupIsBounded(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"quotes": strings.Repeat("> ", 2000) + "word",
		"stars":    strings.Repeat("*", 500) + "word" + strings.Repeat("*", 500),
		"brackets": strings.Repeat("[", 4000) + "word"} {
		depth, words := 0, ""
		var walk func([]Markup, int)
		walk = func(list []Markup, at int) {
			depth = max(depth, at)
			for _, m := range list {
				words += m.Text
				walk(m.Kids, at+1)
			}
		}
		walk(newMarkup(source), 0)
		if depth > maxNesting+1 || !strings.Contains(words, "word") {
			t.Errorf("%s: %d deep, %.60q", name, depth, words)
		}
	}
}

func FuzzMarkup(f *testing.F) {
	f.Add("# a\n> *b* [c](d)\n```\n|e|\n|-|\n")
	f.Fuzz(func(_ *testing.T, source string) { newMarkup(source) })
}
