package hostile

import (
	"context"
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

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

var large = flag.Bool("large", false, "make the large plans as large as wavex accepts")

var wavex string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if rig.OnlyLists() {
		return m.Run()
	}
	path, clean, err := rig.Wavex(context.Background())
	if err != nil {
		println(err.Error())
		return 1
	}
	defer clean()
	wavex = path
	return rig.Run(m, "e2e/hostile", 2)
}

// secret is the content of a file beside the folder of a plan.
const secret = "OUTSIDE-THE-FOLDER"

// A hostile is a plan of a stranger. In text, SECRET stands for the absolute path of the secret, and RAN for
// that of a file that a command of the plan makes.
type hostile struct {
	name, text string
	make       func(t *testing.T, dir string) // other files of the folder
	wants      string                         // of stderr; "": the plan is right, and only must do nothing
}

func task(fields string) string {
	return "{\"version\": 1, \"name\": \"x\",\n\"tasks\": [\n{\"id\": \"T-1\", \"subject\": \"Do x\", " + fields + "}]}"
}

func plan(fields string) string {
	return "{\"version\": 1, \"name\": \"x\",\n" + fields + ",\n\"tasks\": [{\"id\": \"T-1\", \"subject\": \"Do x\"}]}"
}

func symlink(target, name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { check(t, os.Symlink(target, filepath.Join(dir, name))) }
}

func check(t *testing.T, err error) {
	t.Helper()
	testrepo.Must(t, err)
}

func small() []hostile {
	const where = `^plan\.\w+:3:\d+: error: `
	fifo := func(t *testing.T, dir string) { check(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600)) }
	return []hostile{
		// Files outside.
		{"prompt-absolute.json", task(`"prompt": "@SECRET"`), nil, where},
		{"prompt-parent.json", task(`"prompt": "@../secret"`), nil, where},
		{"prompt-parent-within.json", task(`"prompt": "@a/../../secret"`), nil, where},
		{"prompt-link.json", task(`"prompt": "@link"`), symlink("../secret", "link"), where},
		{"prompt-absolute-link.json", task(`"prompt": "@link"`), symlink("/etc/hostname", "link"), where},
		{"prompt-folder-link.json", task(`"prompt": "@up/secret"`), symlink("..", "up"), where},
		{"prompt-home.json", task(`"prompt": "@~/.ssh/id_rsa"`), nil, where},
		{"prompt-pipe.json", task(`"prompt": "@pipe"`), fifo, where},
		{"prompt-device.json", task(`"prompt": "@zero"`), symlink("/dev/zero", "zero"), where},
		{"prompt-folder.json", task(`"prompt": "@."`), nil, where},
		{"prompt-backslash.json", task(`"prompt": "@..\\secret"`), nil, where},
		{"prompt-parent.yaml", "version: 1\nname: x\ntasks: [{id: T-1, subject: Do x, prompt: '@../secret'}]\n", nil, where},
		{"file-parent.json", task(`"files": ["../secret"]`), nil, where},
		{"file-absolute.json", task(`"files": ["SECRET"]`), nil, where},
		{"file-within.json", task(`"files": ["a/../../secret"]`), nil, where},
		{"file-object.json", task(`"files": [{"path": "../secret", "action": "read"}]`), nil, where},
		{"check-parent.json", task(`"verify": [{"file": "../secret", "contains": "O"}]`), nil, where},
		{"check-absolute.json", task(`"verify": [{"file": "SECRET", "matches": "O"}]`), nil, where},
		{"criterion-parent.json", task(`"criteria": [{"text": "y", "verify": {"file": "../secret"}}]`), nil, where},
		{"dir-parent.json", task(`"dir": "../.."`), nil, where},
		{"dir-absolute.json", task(`"dir": "/"`), nil, where},
		{"mcp-absolute.json", task(`"mcpConfig": "/../etc/passwd\u0000"`), nil, where},
		{"share-parent.json", plan(`"isolation": "worktree", "share": ["../secret"]`), nil, `^plan\.json:2:\d+: error: `},
		{"share-copy-absolute.json", plan(`"share": ["copy:/etc"]`), nil, `^plan\.json:2:\d+: error: `},
		{"link-parent.json", plan(`"links": [{"from": "../secret", "to": "a"}]`), nil, `^plan\.json:2:\d+: error: `},
		{"id-path.json", `{"version": 1, "tasks": [` + "\n\n" + `{"id": "../../x", "subject": "Do x"}]}`, nil, where},
		{"id-newline.json", `{"version": 1, "tasks": [` + "\n\n" + `{"id": "a\nb", "subject": "Do x"}]}`, nil, where},
		{"id-escape.json", `{"version": 1, "tasks": [` + "\n\n" + `{"id": "a\u001b[2J", "subject": "Do x"}]}`, nil, where},

		// Commands, which a run would start.
		{"command.json", task(`"command": "touch RAN"`), nil, ""},
		{"command-as-check.json", task(`"verify": ["touch RAN; $(touch RAN)"]`), nil, ""},
		{"command-as-setup.json", plan(`"setup": "touch RAN"`), nil, ""},
		{"command-in-subject.json", plan(`"request": "$(touch RAN)` + "`touch RAN`" + `"`), nil, ""},
		{"command-in-prompt.json", task(`"prompt": "!touch RAN"`), nil, ""},
		{"command-as-criterion.json", task(`"criteria": [{"text": "y", "verify": "touch RAN"}]`), nil, ""},
		{"tag.yaml", "version: 1\nname: !!python/object/apply:os.system ['touch RAN']\ntasks: []\n", nil,
			`^plan\.yaml:\d+:\d+: error: `},
		{"include.yaml", "version: 1\nname: x\ntasks: !include ../secret\n", nil, where},
		{"phase-verify.md", "---\nphase: 1\n---\n## Wave 1\n<task id=\"1\" wave=\"1\">\n<action>x</action>\n" +
			"<verify><check type=\"run\" cmd=\"touch RAN\">x</check></verify>\n</task>\n", nil, ""},
		{"stories.json", `{"stories": [{"id": 1, "title": "$(touch RAN)", "verify": "touch RAN", "passes": false}]}`,
			nil, ""},

		// Texts that are no plans.
		{"utf16.json", "\xff\xfe{\x00}\x00", nil, `^plan\.json:1:1: error: .*UTF-8`},
		{"nul.json", task(`"prompt": "a` + "\x00" + `b"`), nil, where},
		{"nul-escaped.json", task(`"command": "a\u0000b"`), nil, where},
		{"latin1.json", task(`"prompt": "` + "\xe9" + `"`), nil, where},
		{"gzip.json", "\x1f\x8b\x08\x00\x00\x00\x00\x00", nil, `^plan\.json:1:1: error: `},
		{"two.json", task(`"prompt": "x"`) + "{}", nil, `^plan\.json:3:\d+: error: something follows the plan`},
		{"twice.json", task(`"prompt": "x", "prompt": "@../secret"`), nil, where + `field "prompt" is given twice`},
		{"proto.json", task(`"__proto__": {"command": "touch RAN"}`), nil, where + `unknown field "__proto__"`},
		{"comment.json", "// a comment\n{}", nil, `^plan\.json:1:1: error: `},
		{"html.html", "<html><script>fetch('x')</script></html>", nil, `^plan\.html:`},

		// Values out of all bounds.
		{"number.json", task(`"budgetUSD": 1e999999999`), nil, where},
		{"negative.json", task(`"budgetUSD": -1`), nil, where},
		{"retries.json", task(`"maxRetries": 99999999999999999999`), nil, where},
		{"timeout.json", task(`"timeout": "99999999999h"`), nil, where},
		{"wave.json", task(`"wave": 9223372036854775807`), nil, where},
		{"pattern.json", task(`"verify": [{"file": "a", "matches": "((a{1000}){1000}){1000}"}]`), nil, where},
		{"deep.json", task(`"metadata": {"a": ` + strings.Repeat("[", 100_000) + `}`), nil, where + "values are nested more"},
		{"deep-objects.json", strings.Repeat(`{"a":`, 100_000), nil, `^plan\.json:1:\d+: error: `},
		{"deep-flow.yaml", "tasks: " + strings.Repeat("[", 100_000), nil, `^plan\.yaml:1:\d+: error: `},
		{"deep-blocks.yaml", strings.Repeat("- ", 100_000), nil, `^plan\.yaml:1:\d+: error: `},
		{"aliases.yaml", bomb(), nil, `^plan\.yaml:\d+:\d+: error: `},
		{"alias-of-itself.yaml", "version: 1\nname: x\ntasks: &a [*a]\n", nil, where},
		{"merge.yaml", "version: 1\nname: &n x\ntasks: [{<<: *n}]\n", nil, where},
		{"cycle.json", chain(1000), nil, `^plan\.json:\d+:\d+: error: cycle: `},
	}
}

// bomb returns aliases that expand to a billion values.
func bomb() string {
	s := "version: 1\nname: x\na0: &a0 [x]\n"
	for i := range 9 {
		of := "*a" + string(rune('0'+i))
		s += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat(of+", ", 9) + of + "]\n"
	}
	return s + "tasks: *a9\n"
}

// chain returns n tasks that wait for each other in a circle.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"version": 1, "name": "x", "tasks": [`)
	id := func(i int) string { return strings.Repeat("a", 1+i%7) + "-" + strings.Repeat("b", 1+i/7) }
	for i := range n {
		b.WriteString(`{"id": "` + id(i) + `", "subject": "x", "blockedBy": ["` + id((i+1)%n) + `"]}`)
		if i < n-1 {
			b.WriteString(",\n")
		}
	}
	return b.String() + "]}"
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for _, h := range small() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"check", "import"} {
				h.feed(t, command, 300)
			}
		})
	}
}

// filled is a plan that consists of one text again and again. It is written in pieces: the memory of
// a process begins with that of the one that started it.
type filled struct {
	name, before, again, after string
	wants                      string
}

// Every part of a plan is as long as a file can be.
func TestLargePlans(t *testing.T) {
	t.Parallel()
	const inTask = `{"version":1,"tasks":[{"id":"a","subject":"x",`
	size, most := 30<<20, int64(150) // bytes; MB
	if *large {
		size, most = 229<<20, 300
	}
	for _, f := range []filled{
		{"blanks.json", "", " ", "", "the file is empty"},
		{"open.json", `{"tasks":[`, "{", "", "nested|field|id"},
		{"string.json", `{"name":"`, "a", "", "ends in the middle"},
		{"escapes.json", `{"name":"`, `\n`, `"}`, "longer than 16 MB"},
		{"forward.json", inTask + `"blockedBy":[`, `"b",`, `"b"]}]}`, "unknown task"},
		{"forwards.json", inTask + `"blockedBy":[`, `"NUMBER-b-later",`, `"b"]}]}`, "unknown task"},
		{"unknown.json", `{"version":1,`, `"q":1,`, `"tasks":[]}`, `unknown field "q"`},
		{"files.json", inTask + `"files":[`, `"a",`, `"a"]}]}`, "at most 50000"},
		{"share.json", `{"version":1,"share":[`, `"a",`, `"a"],"tasks":[]}`, "at most 50000"},
		{"waves.json", `{"version":1,"waves":[`, `{"wave":1},`, `{}],"tasks":[]}`, "described twice"},
		{"tasks.json", `{"version":1,"tasks":[`, `{},`, `{}]}`, "a task needs an id"},
		{"same.json", `{"version":1,"tasks":[`, `{"id":"a","subject":"x"},`, `{}]}`, "duplicate|used"},
		{"metadata.json", inTask + `"metadata":{`, `"a":1,`, `"b":1}}]}`, "given twice"},
		{"names.json", inTask + `"metadata":{`, `"NUMBER": 123456,`, `"b":1}}]}`, "at most 50000"},
		{"blanks.yaml", "", " ", "", "16 MB"},
		{"boxes.md", "", "- [ ] a\n", "", "16 MB"},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			hostile{f.name, f.before, func(t *testing.T, dir string) {
				t.Helper()
				f.fill(t, filepath.Join(dir, "plan"+filepath.Ext(f.name)), size)
			}, `error: .*(` + f.wants + ")"}.feed(t, "check", most)
		})
	}
}

// fill appends about size bytes to the beginning of a plan.
func (f filled) fill(t *testing.T, path string, size int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	const piece = 1 << 16
	for i := range size / piece {
		again := f.again
		if strings.Contains(again, "NUMBER") { // each its own
			var b strings.Builder
			for k := range piece / len(f.again) {
				b.WriteString(strings.Replace(f.again, "NUMBER", fmt.Sprintf("%06x", i*piece/len(f.again)+k), 1))
			}
			again = b.String()
		} else {
			again = strings.Repeat(again, piece/len(again))
		}
		_, err = file.WriteString(again)
		check(t, err)
	}
	_, err = file.WriteString(f.after)
	check(t, err)
	check(t, file.Close())
}

func TestNoPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, wants := range map[string]string{
		"/dev/zero": "is a device", "/dev/full": "is a device", "/": "is a directory",
		"/proc/self/mem": ".", "none": "no plan",
	} {
		out := execute(t, dir, []string{"check", path}, 2, 100)
		if !regexp.MustCompile(wants).MatchString(out) {
			t.Errorf("%s: %s", path, out)
		}
	}
}

// feed gives the plan to a command of wavex, which must refuse it within most MB of memory.
func (h hostile) feed(t *testing.T, command string, most int64) {
	t.Helper()
	top := t.TempDir()
	dir, ran, outside := filepath.Join(top, "folder"), filepath.Join(top, "ran"), filepath.Join(top, "secret")
	check(t, os.Mkdir(dir, 0o755))
	check(t, os.WriteFile(outside, []byte(secret), 0o600))
	name := "plan" + filepath.Ext(h.name)
	text := strings.NewReplacer("SECRET", outside, "RAN", ran).Replace(h.text)
	check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	if h.make != nil {
		h.make(t, dir)
	}
	before := list(t, top)
	exit := 2
	if h.wants == "" {
		exit = 0
	}
	out := execute(t, dir, []string{command, name}, exit, most)
	if !regexp.MustCompile("(?m)" + h.wants).MatchString(out) {
		t.Errorf("%s does not say %s:\n%.500s", command, h.wants, out)
	}
	if strings.Contains(out, secret) {
		t.Errorf("%s read a file outside:\n%.500s", command, out)
	}
	if after := list(t, top); after != before {
		t.Errorf("%s left files: %s, before: %s", command, after, before)
	}
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if e.IsDir() {
			names = append(names, list(t, filepath.Join(dir, e.Name())))
		}
	}
	return strings.Join(names, " ")
}

// execute returns the output of a command that must end with an exit code and take at most so many
// MB of memory.
func execute(t *testing.T, dir string, args []string, exit int, most int64) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, wavex, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out, _ := cmd.CombinedOutput() // the exit code says it
	if cmd.ProcessState.ExitCode() != exit {
		t.Errorf("%s: exit %d instead of %d\n%.500s", args, cmd.ProcessState.ExitCode(), exit, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the system does not tell the memory of a process")
	}
	if mb := usage.Maxrss >> 10; mb > most {
		t.Errorf("%s took %d MB", args, mb)
	}
	return string(out)
}
