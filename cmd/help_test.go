package cmd_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"wavex/cmd"
)

// told runs a command line that starts nothing and returns its output.
func told(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cmd.Main(t.Context(), args, cmd.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs}); code != want {
		t.Fatalf("wavex %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, errs.String())
	}
	return out.String() + errs.String()
}

// commands returns the commands that the root's help lists.
func commands(t *testing.T) []string {
	t.Helper()
	_, list, found := strings.Cut(told(t, 0, "--help"), "\nRun:\n")
	if !found {
		t.Fatal("the help lists no commands")
	}
	list, _, _ = strings.Cut(list, "\nFlags:\n")
	var names []string
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "  ") {
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

// The help of a run's commands shows each flag that is not hidden, once, in groups.
func TestHelpGroupsFlags(t *testing.T) {
	t.Parallel()
	titles := []string{"Work", "Limits", "Checks and review", "Result", "Output"}
	for _, c := range cmd.Root(cmd.Stdio{}).Commands() {
		if !slices.Contains([]string{"run", "resume", "start", "verify"}, c.Name()) {
			continue
		}
		all := told(t, 0, c.Name(), "--help")
		for _, title := range titles {
			if !strings.Contains(all, "\n"+title+":\n") {
				t.Errorf("%s --help has no group %s", c.Name(), title)
			}
		}
		shown := flagLines(all)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			n := 0
			for _, name := range shown {
				if name == f.Name {
					n++
				}
			}
			if want := map[bool]int{true: 0, false: 1}[f.Hidden]; n != want {
				t.Errorf("%s --help shows --%s %d times, want %d", c.Name(), f.Name, n, want)
			}
		})
	}
}

// flagLines returns the names of the flags in a help.
func flagLines(help string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`).FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestHelpFits(t *testing.T) {
	t.Parallel()
	names := commands(t)
	for _, must := range []string{"run", "resume", "status", "check", "graph", "schema", "version", "completion"} {
		if !slices.Contains(names, must) {
			t.Errorf("the help does not list %s", must)
		}
	}
	for _, name := range names {
		for _, sub := range below(told(t, 0, name, "--help")) {
			names = append(names, name+" "+sub)
		}
	}
	for _, name := range append(names, "") {
		t.Run("wavex "+name, func(t *testing.T) {
			t.Parallel()
			help := told(t, 0, append(strings.Fields(name), "--help")...)
			for line := range strings.Lines(help) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if !strings.Contains(help, "\nExamples:\n  wavex ") {
				t.Error("no example")
			}
			if name == "" {
				return
			}
			if !strings.Contains(help, "Exit status:") {
				t.Error("no exit codes")
			}
			if told(t, 0, append([]string{"help"}, strings.Fields(name)...)...) != help {
				t.Error("help COMMAND and COMMAND --help differ")
			}
		})
	}
}

// A command that runs a plan can end with every exit code.
func TestHelpListsEveryCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"run", "resume"} {
		help := told(t, 0, name, "--help")
		for _, code := range []string{"0", "1", "2", "3", "4", "5", "6", "70", "130"} {
			if !strings.Contains(help, "\n  "+code+" ") {
				t.Errorf("the help of %s does not explain exit code %s", name, code)
			}
		}
		if !strings.Contains(help, "143") {
			t.Errorf("the help of %s does not explain exit code 143", name)
		}
	}
}
