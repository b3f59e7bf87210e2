package gitwork

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/proc/proctest"
)

// kills is the number of times that TestKilled kills an integration, before or after one of its git
// commands, of which there are 40 to 50. From 100 on every point is covered, and the further kills
// hit the resumed integration too.
var kills = flag.Int("kills", 6, "how often TestKilled kills")

// killedWave returns the wave that TestKilled integrates: a conflict, and two tasks that are red
// together.
func killedWave() []VerifiedTask {
	return verifiedTasks("x: ", "conflicts: ", "y: true", "z: test ! -e y -o ! -e z")
}

// helper is a process that is killed, or on a disk of its own: "open PROJECT HOME" prints the mode,
// "integrate PROJECT RUN PATH HOME" prints the Integration,
// "steps PROJECT RUN HOME TREES CALLS" is a session of a run that is killed,
// "delete PROJECT REF" deletes a ref.
func helper(name string, args []string) int {
	ctx := context.Background()
	switch {
	case name == "delete" && len(args) == 2:
		if err := newGit(args[0], os.Environ()).updateRefs(ctx, args[1], ""); err != nil {
			return 1
		}
		return 0
	case name == "open" && len(args) == 2:
		m, err := Open(ctx, Options{Project: args[0], Loop: loop.In(args[0]), Run: "r1", Mode: Worktree, Width: 4,
			Env: testEnv(args[1])})
		if err == nil {
			fmt.Printf("%s: %s\n", m.Mode(), m.ModeReason())
			err = m.Close(ctx)
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case name == "steps" && len(args) == 4:
		return stepHelper(args[0], args[1], args[2], args[3])
	case name != "integrate" || len(args) != 4:
		return 2
	}
	m, err := Open(ctx, Options{Project: args[0], Loop: loop.In(args[0]), Run: args[1], Mode: Worktree,
		Env: append(testEnv(args[3]), "PATH="+args[2])})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	in, err := m.Integrate(ctx, 1, killedWave())
	if err == nil {
		err = m.Close(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	out, _ := json.Marshal(in)
	fmt.Println(string(out))
	return 0
}

// An integration that was killed before or after any of its git commands, with git's lock files
// left behind, gives the same commit and the same culprits when it is repeated, also in a fresh clone that has nothing
// but .loop.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	work := map[string]string{}
	for task, content := range map[string]files{"x": {"a": "x\n"}, "conflicts": {"a": "c\n"}, "y": {"y": "1\n"},
		"z": {"z": "1\n"}} {
		r.write(r.dir, content)
		r.git("add", "-A")
		tree := r.git("write-tree")
		work[task] = r.git("commit-tree", "-m", task, "-p", "HEAD", tree)
		r.git("reset", "-q", "--hard")
	}
	before := r.userFingerprint()

	git, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	// This git counts its calls in a file beside it and kills its parent at a chosen one.
	exe, err := os.Executable()
	must(t, err)
	wrapper := `#!/bin/sh
read -r at <"$0.at"
n=0
[ ! -f "$0.n" ] || read -r n <"$0.n"
n=$((n + 1))
echo $n >"$0.n"
if [ $n = $at ]; then kill -9 $PPID; kill -9 $$; fi
if [ -$n = $at ]; then ` + git + ` "$@"; kill -9 $PPID; kill -9 $$; fi
exec ` + git + ` "$@"
`
	home := strings.TrimPrefix(r.env[1], "HOME=")
	integrateIn := func(dir, run string) (string, error) {
		path := os.Getenv("PATH")
		if dir == r.dir {
			path = filepath.Join(bin, run) + ":" + path
		}
		cmd := exec.Command(exe, "helper", "integrate", dir, run, path, home)
		cmd.Env = append(r.env, "GORACE=atexit_sleep_ms=0")
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	integrate := func(run string) (string, error) { return integrateIn(r.dir, run) }
	begin := func(run string, at int) {
		for task, id := range work {
			r.git("update-ref", taskRef(run, task), id)
		}
		must(t, os.MkdirAll(string(loop.In(r.dir)), 0o755))
		b, err := openBundles(loop.In(r.dir).Worktree(run, "bundles"), runPrefix(run), "refs/wavex/"+run+"/")
		must(t, err)
		must(t, b.save(t.Context(), newGit(r.dir, r.env), r.git("rev-parse", "HEAD")))
		proctest.Script(t, filepath.Join(bin, run, "git"), wrapper)
		must(t, os.WriteFile(filepath.Join(bin, run, "git.at"), []byte(strconv.Itoa(at)+"\n"), 0o600))
	}
	commands := func(run string) int {
		data, err := os.ReadFile(filepath.Join(bin, run, "git.n"))
		must(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(data)))
		must(t, err)
		return n
	}
	begin("whole", 0)
	want, err := integrate("whole")
	if err != nil {
		t.Fatal(want, err)
	}
	var in Integration
	must(t, json.Unmarshal([]byte(want), &in))
	equal(t, "integrated", in.Integrated, []string{"x", "y"})
	equal(t, "culprits", names(in.Culprits), "conflicts conflict, z red")
	calls := commands("whole")
	t.Logf("an integration takes %d git commands", calls)
	// The ids of commits differ between runs, because their trailers do: compare trees.
	tree := r.git("rev-parse", in.Commit+"^{tree}")

	for i := range *kills {
		// Spread the points evenly, both before and after calls. With more kills than points the
		// resumed integration is killed again.
		round, point := i/(2*calls), i%(2*calls)
		if *kills < 2*calls {
			point = i * 2 * calls / *kills
			point += (i + point) % 2
		}
		at, run := 1+point/2, fmt.Sprintf("before%d.%d", 1+point/2, round)
		if point%2 == 1 {
			at, run = -at, fmt.Sprintf("after%d.%d", at, round)
		}
		t.Run(run, func(t *testing.T) {
			begin(run, at)
			for i := range 1 + round {
				must(t, os.RemoveAll(filepath.Join(bin, run, "git.n")))
				out, err := integrate(run)
				if err != nil {
					continue
				}
				// Only a resumed integration may start fewer commands than the whole one.
				if n := commands(run); i == 0 || n >= max(at, -at) {
					t.Fatalf("it was not killed in %d git commands: %s", n, out)
				}
				break
			}
			// Two calls at the same time may have got one number: without this the next integration is killed too.
			must(t, os.WriteFile(filepath.Join(bin, run, "git.at"), []byte("0\n"), 0o600))
			if Exists(loop.In(r.dir), run) { // a fresh clone with .loop continues as well
				clone := filepath.Join(t.TempDir(), "clone")
				r.git("clone", "-q", "--no-local", "--single-branch", "file://"+r.dir, clone)
				copyAll(t, string(loop.In(clone)), string(loop.In(r.dir)))
				out, err := integrateIn(clone, run)
				if err != nil {
					t.Fatalf("killed at git command %d a clone ends with %s, %v", at, out, err)
				}
				var got Integration
				must(t, json.Unmarshal([]byte(out), &got))
				equal(t, "the tree in a clone", r.gitIn(clone, "rev-parse", got.Commit+"^{tree}"), tree)
				equal(t, "integrated in a clone", got.Integrated, in.Integrated)
			}
			for _, lock := range []string{tipRef(run), runBranch(run)} {
				lock = filepath.Join(r.dir, ".git", lock+".lock")
				must(t, os.MkdirAll(filepath.Dir(lock), 0o755))
				must(t, os.WriteFile(lock, nil, 0o600))
			}
			out, err := integrate(run)
			if err != nil {
				t.Fatalf("killed at git command %d it ends with %s, %v", at, out, err)
			}
			var got Integration
			must(t, json.Unmarshal([]byte(out), &got))
			equal(t, "the tree", r.git("rev-parse", got.Commit+"^{tree}"), tree)
			equal(t, "the branch", r.git("rev-parse", "refs/heads/wavex/"+run), got.Commit)
			equal(t, "commits", slices.Sorted(maps.Keys(got.Commits)), slices.Sorted(maps.Keys(in.Commits)))
			got.Commit, got.Commits = in.Commit, in.Commits
			equal(t, "the rest", got, in)
			if again, err := integrate(run); err != nil || again != out {
				t.Errorf("once more it gives %s, %v", again, err)
			}
			for _, w := range splitLines(r.git("worktree", "list", "--porcelain")) {
				if strings.HasPrefix(w, "worktree ") && strings.Contains(w, "/"+run+".") {
					t.Errorf("%s stays", w)
				}
			}
		})
	}
	r.untouched(before)
}
