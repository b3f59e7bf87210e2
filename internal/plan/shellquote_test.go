package plan

import (
	"os/exec"
	"testing"
)

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want string }{
		{"plan.json", "plan.json"},
		{"Plän.json", "Plän.json"},
		{"my plan.json", "'my plan.json'"},
		{"it's $HOME.json", `'it'\''s $HOME.json'`},
		{"", "''"},
	} {
		got := ShellQuote(c.path)
		if got != c.want {
			t.Errorf("Word(%q) is %s, want %s", c.path, got, c.want)
		}
		if sh, err := exec.LookPath("sh"); err == nil {
			if out, err := exec.Command(sh, "-c", "printf %s "+got).Output(); err != nil || string(out) != c.path {
				t.Errorf("a shell reads %s as %q, %v", got, out, err)
			}
		}
	}
}
