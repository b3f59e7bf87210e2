//go:build unix

package e2e

// This file tests the scope of allow rules. The checks of a task become rules, so a rule must
// allow its command, and no other.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// denials runs commands one by one under rules and returns the denied ones.
func denials(t *testing.T, cl cli, args []string, commands []string) map[string]bool {
	t.Helper()
	steps := []fakeapi.Reply{}
	for _, c := range commands {
		steps = append(steps, fakeapi.Use(fakeapi.Bash(c)))
	}
	srv := serve(t, append(steps, fakeapi.Text("done"))...)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho out\n"), 0o755))
	}
	e := call(t, srv, setup{cli: cl, stdin: "go", dir: dir,
		args: append([]string{"--permission-mode", "acceptEdits"}, args...)})
	denied := map[string]bool{}
	for _, d := range e.result(t).Denials {
		var in struct{ Command string }
		testrepo.Must(t, json.Unmarshal(d.Input, &in))
		denied[in.Command] = true
	}
	return denied
}

func flags(rules ...string) []string {
	var args []string
	for _, r := range rules {
		args = append(args, "--allowedTools", r)
	}
	return args
}

// settings passes rules as a list, in which neither comma nor space splits them.
func settings(t *testing.T, rules ...string) []string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": rules}})
	testrepo.Must(t, err)
	return []string{"--settings", string(data)}
}

// escaped returns the rule for one command: a backslash and parentheses need a backslash.
func escaped(command string) string {
	return "Bash(" + strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(command) + ")"
}

func TestAllowRules(t *testing.T) {
	t.Parallel()
	exact := []string{`./a "$(./b x)" = y`, `test "$(./b)" = y`, `./a 'x)y'`, `./a \(x\)`, `./a "b\\c"`, `./a x, y`,
		`./a && ./b || ./a`,
		`for i in 1 2; do ./a $i; done`, `! ./a z`, `FOO=1 ./a`, "./a <<EOF\nhi\nEOF", "./a 1\n./b 2"}
	never := []string{"(./a)", "./a &", "./a > /outside.txt"}
	var rules []string
	for _, c := range slices.Concat(exact, never, []string{`./a 'q*' z`, `./b x:*`}) {
		rules = append(rules, escaped(c))
	}
	for _, c := range []struct {
		name    string
		args    []string
		allowed []string
		denied  []string
		both    bool
	}{
		{name: "a command", args: flags("Bash(./a one)", "Bash(./b two)"),
			// The CLI splits a compound command: each part must be allowed, or harmless.
			allowed: []string{"./a one", "./a one && ./b two", "./a one; ./b two", "./a one | ./b two", "./a one | tail -5",
				"./a one 2>&1", "./a one > out.txt", "./a one && echo hi", "timeout 5 ./a one", "time ./a one"},
			denied: []string{"./a", "./a one extra", "./a  one", "./a one && ./b three", "X=1 ./a one", "(./a one)", "./a one &",
				"./a one > /outside.txt", "./a $(./b two)", "cd .. && ./a one"}},
		{name: "a prefix", args: flags("Bash(./a:*)", "Bash(./b *)"),
			allowed: []string{"./a", "./a x y", "./b", "./b x", "./a x && ./a y"},
			denied:  []string{"./ab", "./a $(./c)", "./a && ./c"}},
		// A compound is no rule for its parts. The flag splits its value: a parenthesis followed by a space
		// ends the rule.
		{name: "a compound", args: flags("Bash(./a one && ./b two)", escaped(`test "$(./b)" = y`)),
			allowed: []string{"./a one && ./b two"},
			denied:  []string{"./a one", "./b two", "./a one; ./b two", "./a one && ./b three", `test "$(./b)" = y`}},
		// In settings an escaped rule allows its command. A star is a wildcard at any place; :* at the end
		// is a prefix, never literal. Some commands are never allowed by a rule.
		{name: "settings", both: true, args: settings(t, rules...),
			allowed: append(exact, `./a 'q*' z`, `./a 'qqq' z`, "./b x y"),
			denied:  append([]string{"./a z", "FOO=2 ./a", "./a x", "./a && ./b", "./b x:*", "./b xy"}, never...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onCLIs(t, c.both, func(t *testing.T, cl cli) {
				denied := denials(t, cl, c.args, slices.Concat(c.allowed, c.denied))
				for _, command := range c.allowed {
					if denied[command] {
						t.Errorf("denied: %s", command)
					}
				}
				for _, command := range c.denied {
					if !denied[command] {
						t.Errorf("allowed: %s", command)
					}
				}
			})
		})
	}
}
