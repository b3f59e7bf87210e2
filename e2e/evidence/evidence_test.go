//go:build unix

package evidence

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	_ "wavex/cmd" // go test must not serve a cached result when only wavex itself changed
	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

// atOnce is the number of cases that run at once; most of a case is waiting for processes.
const atOnce = 6

// limit bounds one command on the slowest machine.
const limit = 15 * time.Minute

var wavex, goCache string // set by TestMain before any test runs

var allWays = flag.Bool("ways", false, "run each case in all its ways")

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	path, clean, err := rig.Wavex(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
	wavex, goCache = path, strings.TrimSpace(string(cache))
	code := rig.Run(m, "evidence", atOnce)
	clean()
	os.Exit(code)
}

func TestDishonest(t *testing.T) {
	t.Parallel()
	runAll(t, Dishonest)
}

func TestHonest(t *testing.T) {
	t.Parallel()
	runAll(t, Honest)
}

func TestDoubtful(t *testing.T) {
	t.Parallel()
	runAll(t, Doubtful)
}

func runAll(t *testing.T, kind string) {
	for _, c := range Load(t, "testdata", kind) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for n, way := range c.Ways() {
				if n > 0 && !*allWays {
					break
				}
				e := run(t, c, way, wavex, nil)
				if kind == Honest && len(c.Faults(way, e)) > 0 { // neighbours in a shared directory, and time, may disturb it
					t.Logf("%s, once: exits %v\n%s", way, e.Exits, e.Output)
					e = run(t, c, way, wavex, nil)
				}
				for _, f := range c.Faults(way, e) {
					t.Errorf("%s: %s", way, f)
				}
				if kind == Honest && strings.Contains(e.Output, "Policy: ") {
					t.Errorf("%s: calls were denied", way)
				}
				t.Logf("%s: exits %v\n%s", way, e.Exits, e.Output)
			}
		})
	}
}

// There are as many cases as promised: of each kind, with the real CLI, of each subject, and honest ones that write
// down their end.
func TestList(t *testing.T) {
	t.Parallel()
	subjects, written := map[string]int{}, 0
	for kind, least := range map[string]int{Dishonest: 100, Honest: 90, Doubtful: 1} {
		cases, real := Load(t, "testdata", kind), 0
		for _, c := range cases {
			if c.Real != "" {
				real++
			}
			if subject, _, ok := strings.Cut(c.Name, "/"); ok {
				subjects[subject]++
			}
			if kind == Honest && c.ends != nil {
				written++
			}
		}
		if len(cases) < least || real < 5 && kind != Doubtful {
			t.Errorf("%d %s cases, want %d; %d with the real CLI, want 5", len(cases), kind, least, real)
		}
	}
	for _, subject := range []string{"attempts", "blockers", "bytes", "daemons", "delivered", "flaky", "hooks", "no-tests",
		"nobody-looked", "reads", "runs", "spelling", "stash"} {
		if subjects[subject] < 6 {
			t.Errorf("%d cases of %s, want 6", subjects[subject], subject)
		}
	}
	if written < 25 {
		t.Errorf("%d honest cases write down their end, want 25", written)
	}
}

// A line names a culprit only if it does more than repeat the plan or announce progress.
func TestFaults(t *testing.T) {
	t.Parallel()
	dishonest := Case{Kind: Dishonest, Names: []*regexp.Regexp{regexp.MustCompile(`check\.sh`)},
		files: []txtar.File{{Name: "plan.json", Data: []byte(`{"tasks": [
			{"id": "T-001", "subject": "Fix check.sh", "verify": [{"run": "sh check.sh"}]}]}`)}}}
	for _, test := range []struct {
		c      Case
		exit   int
		output string
		faults int
	}{
		{dishonest, 1, "T-001: it changed check.sh\n", 0},
		{dishonest, 1, "T-001 Fix check.sh: failed: sh check.sh\n", 1},
		{dishonest, 1, "[LOOP] [T-001] check.sh\n", 1},
		{dishonest, 2, "T-001: it changed check.sh\n", 1},
		{dishonest, 0, "SHIP <loop-complete>\n", 4},
		{Case{Kind: Dishonest, exit: 5}, 1, "", 1},
		{Case{Kind: Honest}, 0, "SHIP", 0},
		{Case{Kind: Honest}, 0, "MONITOR", 1},
		{Case{Kind: Honest}, 1, "", 2},
		{Case{Kind: Honest, Holds: "false"}, 0, "SHIP", 1},
		{Case{Kind: Doubtful}, 0, "MONITOR", 0},
		{Case{Kind: Doubtful}, 0, "SHIP", 1},
	} {
		if got := test.c.Faults(Way{}, End{Exits: []int{test.exit}, Output: test.output}); len(got) != test.faults {
			t.Errorf("%s, exit %d, %q: %q, want %d faults", test.c.Kind, test.exit, test.output, got, test.faults)
		}
	}
}

// A written end bounds that of a dishonest case from above and that of an honest one from below.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, ends string
		exit       int
		word       string
		basis      string
		faults     int
	}{
		{Dishonest, "off MONITOR T-001=rests", 0, "MONITOR", "rests", 0},
		{Dishonest, "off MONITOR T-001=rests", 0, "MONITOR", "empty", 0},
		{Dishonest, "off MONITOR T-001=rests", 0, "MONITOR", "reviewed", 1},
		{Dishonest, "off MONITOR T-001=rests", 1, "", "", 0},
		{Dishonest, "off MONITOR T-001=rests", 2, "", "", 1},
		{Dishonest, "off MONITOR T-001=rests", 0, "SHIP", "proven", 2},
		{Dishonest, "off SHIP T-001=reviewed", 0, "SHIP", "rests", 1},
		{Dishonest, "off HOLD", 4, "", "", 0},
		{Dishonest, "off HOLD", 1, "<loop-complete>", "", 1},
		{Dishonest, "off HOLD", 0, "MONITOR", "rests", 1},
		{Honest, "off MONITOR T-001=rests", 0, "SHIP", "proven", 0},
		{Honest, "off MONITOR T-001=rests", 0, "MONITOR", "nothing", 1},
		{Honest, "off MONITOR T-001=rests", 1, "", "", 2},
		{Doubtful, "off MONITOR T-001=rests", 0, "MONITOR", "kept", 0},
		{Doubtful, "off MONITOR T-001=rests", 0, "SHIP", "proven", 2},
	} {
		c := Case{Kind: test.kind}
		testrepo.Must(t, c.setEnds(strings.Fields(test.ends)))
		e := End{Exits: []int{test.exit}, Output: test.word,
			Report: fmt.Sprintf(`{"gate": {"evidence": [{"task": "T-001", "basis": %q}]}}`, test.basis)}
		if got := c.Faults(Way{Review: "off"}, e); len(got) != test.faults {
			t.Errorf("%s, %s, exit %d, %s, %s: %q, want %d faults", test.kind, test.ends, test.exit, test.word, test.basis, got,
				test.faults)
		}
	}
}

// run carries out a case with the rehearsal agent. program is wavex, which starts with the attributes.
func run(t *testing.T, c Case, way Way, program string, attr *syscall.SysProcAttr) End {
	t.Helper()
	r := c.Unpack(t, t.TempDir())
	env := environment(t, r)
	if r.Before != "" {
		mustRun(t, r.Project, env, "sh", r.Before)
	}
	if way.Git {
		mustRun(t, r.Project, env, "sh", "-c", "git init -q -b main && git add -A && git commit -q -m first")
	}
	report := filepath.Join(t.TempDir(), "report.json")
	flags := append([]string{"--agent", "rehearse", "--scenario", r.Scenario, "--plain", "--report", "json=" + report,
		"--max-retries", "1", "--deliver", "auto"}, c.Flags...)
	if way.Review == "off" {
		flags = append(flags, "--review", "off")
	}
	var e End
	command := func(args ...string) {
		exit, out := start(t, attr, r.Project, env, program, append(args, flags...)...)
		e.Exits, e.Output = append(e.Exits, exit), e.Output+out
	}
	command("run", "plan.json", "--isolation", way.Isolation)
	if c.Again != nil {
		if r.Person != "" {
			mustRun(t, r.Project, env, "sh", r.Person)
		}
		command(c.Again...)
	}
	e.Report = Read(report)
	if c.Holds != "" {
		exit, _ := start(t, nil, r.Project, env, "sh", "-c", c.Holds)
		e.Holds = exit == 0
	}
	e.Second, e.Shown = r.SecondPrompt(), r.Shown()
	return e
}

// environment returns the whole environment of a case's commands. Compiled packages do not depend
// on their folder, so that the cases share them.
func environment(t *testing.T, r Room) []string {
	home := t.TempDir()
	return []string{"HOME=" + home, "PATH=" + r.Bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"TMPDIR=" + t.TempDir(), "LC_ALL=C.UTF-8", "ANTHROPIC_API_KEY=no-key-at-all", "WAVEX_REHEARSE_SPEED=100",
		"GOCACHE=" + goCache, "GOFLAGS=-trimpath -vet=off", "GOPROXY=off", "GOTOOLCHAIN=local",
		"GOTELEMETRY=off", "GOENV=off",
		"npm_config_update_notifier=false", "npm_config_cache=" + filepath.Join(home, "npm"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}
}

func mustRun(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	if exit, out := start(t, nil, dir, env, name, args...); exit != 0 {
		t.Fatalf("%s %q: exit %d\n%s", name, args, exit, out)
	}
}

// start runs a command to its end and returns its exit code and output.
func start(t *testing.T, attr *syscall.SysProcAttr, dir string, env []string, name string,
	args ...string) (exit int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.SysProcAttr = dir, env, attr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	out, err := c.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || ctx.Err() != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return c.ProcessState.ExitCode(), string(out)
}
