package session

import (
	"fmt"
	"testing"
)

func TestCommandWords(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"sh check.sh":                        "[{sh true} {check.sh true}]",
		"go test ./... && ./run.sh a.txt":    "[{go true} {test false} {... false} {run.sh true} {a.txt false}]",
		`python3 -u tests/run.py "x.json"`:   "[{python3 true} {tests/run.py true} {x.json false}]",
		"grep -q $X README.md;test -e out.a": "[{grep true} {README.md false} {test true} {out.a false}]",
		"":                                   "[]",
	} {
		if got := fmt.Sprint(commandWords(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
