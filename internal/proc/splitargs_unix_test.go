//go:build unix

package proc

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/proc/proctest"
)

func TestSplitArgs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line string
		want []string // nil: the shell's
	}{
		{"/bin/true", []string{"/bin/true"}},
		{" go  test\t./... ", []string{"go", "test", "./..."}},
		{"./x A=b --c=d,e@f:g%h+i", []string{"./x", "A=b", "--c=d,e@f:g%h+i"}},
		{"", nil}, {" \t", nil}, {"A=b c", nil}, {"true", nil}, {"echo a", nil}, {". ./x", nil}, {"exit 3", nil},
		{"cd /", nil},
		{"a b; c", nil}, {"a\nb", nil}, {"a *.go", nil}, {"a ~", nil}, {"a $b", nil}, {"a 'b'", nil}, {"a > b", nil},
		{"a #b", nil},
		{"! a", nil}, {"a &", nil}, {"a [b]", nil}, {"a {b,c}", nil}, {"a b\\", nil}, {"ä", nil}, {"a\x00b", nil},
		{"if x", nil},
	} {
		got, ok := SplitArgs(tc.line)
		if ok != (tc.want != nil) || !slices.Equal(got, tc.want) {
			t.Errorf("Words(%q) = %q, %v; want %q", tc.line, got, ok, tc.want)
		}
	}
}

// Words splits a line in the same way as a shell: a program that prints its arguments gets the
// same ones from both.
func TestSplitArgsAgreesWithTheShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	show := filepath.Join(dir, "show")
	proctest.Script(t, show, "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done\n")
	chars := rapid.StringOfN(rapid.RuneFrom([]rune("ab1 \t_-./:=+@%,~#")), 0, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		line := "./show " + chars.Draw(rt, "line")
		words, ok := SplitArgs(line)
		if !ok {
			return
		}
		c := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			rt.Fatal(err)
		}
		if want := strings.Join(append(words[1:], ""), "\n"); string(out) != want {
			rt.Fatalf("%q: Words say %q, the shell %q", line, want, out)
		}
	})
}
