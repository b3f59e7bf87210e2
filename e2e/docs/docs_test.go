//go:build unix

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
)

const planText = `{"version": 1, "name": "demo", "tasks": [
  {"id": "T-001", "subject": "Write a", "files": ["a.txt"], "verify": ["test -s a.txt"], "rehearse": {"writes": [{"path": "a.txt", "content": "a\n"}]}},
  {"id": "T-002", "subject": "Write b", "blockedBy": ["T-001"], "files": ["b.txt"], "verify": ["test -s b.txt"], "rehearse": {"writes": [{"path": "b.txt", "content": "b\n"}]}},
  {"id": "T-003", "subject": "Write c", "blockedBy": ["T-002"], "files": ["c.txt"], "verify": ["test -s c.txt"], "reversibility": "2B", "rehearse": {"writes": [{"path": "c.txt", "content": "c\n"}]}},
  {"id": "T-004", "subject": "Write d", "files": ["d.txt"], "verify": ["test -s d.txt"], "rehearse": {"writes": [{"path": "d.txt", "content": "d\n"}]}}
]}
`

// setting describes how to try one kind of command.
type setting struct {
	prefix string
	state  string // of the project: "done": a run is complete; "paused": one is not; "new": there was none
	codes  []int  // expected exit codes; none means that the command is not tried
	why    string
}

// settings lists the state of the project for each command, and its exit codes. The first
// matching prefix counts.
var settings = []setting{
	{"wavex agent", "new", []int{1}, "it wants the input of a CLI"},
	{"wavex run examples/quickstart", "", nil, "the quickstart has a test of its own, and .ci/run"},
	{"wavex run --task-list", "new", []int{0, 1},
		"the stand-in changes nothing, so nothing shows that the list's task is done"},
	{"wavex plan \"", "new", []int{0, 5}, "the stand-in finds every request too vague"},
	{"wavex start \"", "new", []int{0, 5}, "the same"},
	{"wavex report 2026", "done", []int{2}, "the run of the page is not here"},
	{"wavex learn --accept 1", "done", []int{2}, "nor is its proposal"},
	{"wavex retry", "done", []int{2}, "no task has failed"},
	{"wavex rollback migrate", "done", []int{2}, "the plan has no list"},
	{"wavex output", "done", []int{0, 2}, "no task has an output; in a pipe its exit code is lost"},
	{"wavex run plan.yaml", "new", []int{2}, "the plan with parameters is not here"},
	{"wavex run plan.json --sandbox strict", "new", []int{5},
		"/tmp is private there, and the stand-in's claude lies in it; or there is no bubblewrap"},
	{"wavex watch", "done", []int{0}, "a live page ends by Ctrl-C"},
	{"wavex run", "new", []int{0, 3}, ""},
	{"wavex resume", "paused", []int{0, 3}, ""},
	{"wavex doctor", "done", []int{0, 5}, "the machine of the tests may lack a login"},
	{"", "done", []int{0}, ""},
}

var wavex string // the executable; set by TestMain before any test runs

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	path, clean, err := rig.Wavex(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	wavex = path
	code := m.Run()
	clean()
	os.Exit(code)
}

// sandbox is the project in one of its states, with the environment of its commands.
type sandbox struct{ dir, home string }

func (w sandbox) command(ctx context.Context, text string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", text)
	c.Dir = w.dir
	path := []string{w.home, filepath.Dir(wavex), os.Getenv("PATH")}
	c.Env = []string{"HOME=" + w.home, "PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"TMPDIR=" + os.TempDir(), "WAVEX_CLAUDE=" + filepath.Join(w.home, "claude"), "CI=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"ANTHROPIC_API_KEY=no-key-at-all"}
	return c
}

// copy returns a copy of a project, for one command.
func (w sandbox) copy(t *testing.T) sandbox {
	t.Helper()
	to := sandbox{dir: t.TempDir(), home: t.TempDir()}
	for from, to := range map[string]string{w.dir: to.dir, w.home: to.home} {
		if out, err := exec.CommandContext(t.Context(), "cp", "-pR", from+"/.", to).CombinedOutput(); err != nil {
			t.Fatalf("copying a project: %v\n%s", err, out)
		}
	}
	return to
}

// ghText is the gh of the sandbox: a repository with one open issue of a member.
const ghText = `#!/bin/sh
echo '{"data": {"repository": {"issues": {"nodes": [
  {"number": 7, "title": "Sell", "body": "- [ ] it sells", "state": "OPEN", "url": "u", "authorAssociation": "OWNER"}]}}}}'
`

// prepare makes a project in the given state. Its claude is the rehearsal agent, so that commands
// can be tried unchanged.
func prepare(t *testing.T, state string) sandbox {
	t.Helper()
	w := sandbox{dir: t.TempDir(), home: t.TempDir()}
	write := func(path, text string) {
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testrepo.Must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	proctest.Script(t, filepath.Join(w.home, "claude"), "#!/bin/sh\nexec "+wavex+" agent \"$@\"\n")
	proctest.Script(t, filepath.Join(w.home, "gh"), ghText)
	write(filepath.Join(w.dir, "plan.json"), planText)
	write(filepath.Join(w.dir, "scenario.json"), "{}\n")
	for _, dir := range []string{"out", "folder"} {
		write(filepath.Join(w.dir, dir, ".keep"), "")
	}
	write(filepath.Join(w.home, ".claude", "tasks", "my-list", "1.json"),
		`{"id":"1","subject":"One","description":"Verify: true","status":"pending","blocks":[],"blockedBy":[]}`)
	must := func(text string) {
		if out, err := w.command(t.Context(), text).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}
	if state == "new" { // wavex init was run here before
		write(filepath.Join(w.dir, ".claude", "pensieve", "loop", "2026-11-21-login-feature", "_meta.md"),
			"# login-feature\n")
	}
	must("git init -q -b main . && git add -A && git commit -qm first")
	switch state {
	case "done":
		must("wavex run plan.json --agent rehearse --isolation shared")
	case "paused":
		must("wavex run plan.json --agent rehearse --isolation shared --max-iterations 1 --allow-short || test $? = 3")
	}
	return w
}

// output collects a command's output. It calls first, if not nil, on the first write.
type output struct {
	said  bytes.Buffer
	first func()
}

func (o *output) Write(b []byte) (int, error) {
	if o.first != nil && o.said.Len() == 0 {
		o.first()
	}
	return o.said.Write(b)
}

// TestCommands runs each command of each page.
func TestCommands(t *testing.T) {
	t.Parallel()
	seen, projects := map[string]bool{}, map[string]sandbox{}
	for _, state := range []string{"new", "done", "paused"} {
		projects[state] = prepare(t, state)
	}
	for _, page := range pages(t) {
		for _, s := range find(t, page) {
			text := concrete(s.text)
			if seen[text] {
				continue
			}
			seen[text] = true
			i := slices.IndexFunc(settings, func(c setting) bool { return strings.HasPrefix(text, c.prefix) })
			how := settings[i]
			if how.codes == nil {
				continue
			}
			t.Run(text, func(t *testing.T) {
				t.Parallel()
				w := projects[how.state].copy(t)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
				defer cancel()
				c := w.command(ctx, text)
				out := &output{}
				if strings.HasPrefix(text, "wavex watch --web") { // it serves until Ctrl-C, which works after it has printed its address
					c = w.command(ctx, "exec "+text)
					out.first = func() { _ = c.Process.Signal(os.Interrupt) }
				}
				c.Stdout, c.Stderr = out, out
				err := c.Run()
				code := 0
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(how.codes, code) {
					t.Errorf("%s:%d: exit code %d, want one of %v\n%s", strings.TrimPrefix(s.page, "../../"), s.line, code, how.codes,
						out.said.String())
				}
			})
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d commands were found", len(seen))
	}
}
