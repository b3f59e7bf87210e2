package checkfiles

import (
	"fmt"
	"strings"
	"testing"
)

func TestInvocations(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"sh check.sh":                        "[{d [sh check.sh]}]",
		"go test ./... && ./run.sh a.txt":    "[{d [go test ./...]} {d [./run.sh a.txt]}]",
		`python3 -u tests/run.py "x.json"`:   "[{d [python3 -u tests/run.py x.json]}]",
		"grep -q $X README.md;test -e out.a": "[{d [grep -q README.md]} {d [test -e out.a]}]",
		"":                                   "[]",
		"set -e\n./check.sh a\nb.sh":         "[{d [set -e]} {d [./check.sh a]} {d [b.sh]}]",
		"CI=1 A= ./check.sh":                 "[{d [./check.sh]}]",
		"! ./check.sh":                       "[{d [./check.sh]}]",
		"if ./a.sh; then exec ./b.sh; fi":    "[{d [./a.sh]} {d [./b.sh]} {d [fi]}]",
		"bash -c 'sh x.sh y'":                "[{d [bash -c sh x.sh y]}]",
		"(cd sub && ./x.sh)":                 "[{d/sub [./x.sh]}]",
		"./a=b.sh":                           "[{d [./a=b.sh]}]",
		"cat <in >out":                       "[{d [cat in out]}]",
		"&& || ;;":                           "[]",
		"cat a \\\n  b":                      "[{d [cat a b]}]",
		"@-sh x.sh":                          "[{d [sh x.sh]}]",
		"npx jest a":                         "[{d [jest a]}]",
	} {
		if got := fmt.Sprint(invocations("d", command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// The words of a command occur in it, and none has a separator of the shell.
func FuzzInvocations(f *testing.F) {
	for _, s := range []string{"sh check.sh", "A=1 b && c | d;e", "\x00\xff\n\"'", "bash -c \"x\ty\"", "é ü=1 é",
		"../../x /etc/passwd", "@@@ -"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		for _, v := range invocations(".", command) {
			if len(v.words) == 0 {
				t.Fatal("an invocation without a program")
			}
			for _, w := range v.words {
				if w == "" || strings.ContainsAny(w, " \t\r\n\"'()<>;&|$") {
					t.Errorf("%q has the word %q", command, w)
				}
			}
		}
	})
}
