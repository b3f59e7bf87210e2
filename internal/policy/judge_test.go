package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// deny are commands that agents are denied.
var deny = []string{"git push", "git clean -fdx", "rm -rf /", "rm -rf /*"}

// project returns a project with a protected folder, and the rules of an attempt in it.
func project(t testing.TB) (string, Rules) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"prot", "src", ".git/hooks", ".claude"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(dir, p) }
	return dir, Rules{Dir: dir, Root: dir, Home: "/home/u", Temp: []string{"/tmp/wavex-temp"}, Edits: EditsWorktree,
		Deny: deny, Repeat: 5, Closed: []Closed{
			{Path: dir, Patterns: []string{"prot", "gold/*.txt"}, Rule: "protect", Why: "the plan protects it"},
			{Path: at(".git/hooks"), Rule: "git", Why: "git runs programs from it"},
			{Path: at(".git/config"), Rule: "git", Why: "git runs programs from it"},
			{Path: at(".claude"), Patterns: []string{"settings*"}, Rule: "claude", Why: "it has the rules"},
		}}
}

func bash(command string) Call {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return Call{Tool: "Bash", Input: input}
}

func write(path string) Call {
	input, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		panic(err)
	}
	return Call{Tool: "Write", Input: input}
}

// The plain form of a command is found, and no other one. The files that a command writes are not found.
func TestDeniedCommands(t *testing.T) {
	t.Parallel()
	_, rules := project(t)
	rules.Deny = append(rules.Deny, "gh pr create", "curl", "nc*", "npm publish", "sudo", "Bash(go get:*)",
		"Bash(make deploy)", "Bash(npm run deploy*)", "WebFetch", "mcp__*__send", "Bash(pip install x y)", "./a.sh",
		"scripts/b.sh", "scripts/c*", "/usr/bin/wget", "Bash(./d.sh:*)", "Bash(scripts/e.sh)", `Bash(git commit -m "x y")`,
		`Bash(git tag 'x y' -m "\(z":*)`, `Bash("*")`)
	for command, want := range map[string]string{
		`git push`: "git push", `git -C . -c a=b push origin main`: "git push", `/usr/bin/git push -f`: "git push",
		`make && "git" 'push'`: "git push", `g\it pu"sh"`: "git push", `make | git push; ls`: "git push",
		`(cd a; git push) &`: "git push", `{ git push; }`: "git push", `! git push`: "git push",
		`if a; then git push; fi`: "git push", `f() { git push; }; f`: "git push", `x="$(git push)" ls`: "git push",
		`diff <(git push) "a $(ls)"`: "git push", `A=b git push`: "git push", `command git push`: "git push",
		`env A=b C=d git push`: "git push", `time git push`: "git push", `/usr/bin/time nice git push`: "git push",
		`sudo git push`: "sudo", "cat <<E\n$(git push)\nE": "git push", `git push "$X"`: "git push",
		`git -C "$X" push > log 2>&1`: "git push", `for f in a; do git push; done`: "git push",

		`sh -c 'git push'`: "", `G=git; $G push`: "", `$(echo git) push`: "", `eval git push`: "", `nice -n 5 git push`: "",
		`echo x | xargs git push`: "", `python3 -c "import os; os.system('git push')"`: "", "sh <<E\ngit push\nE": "",
		`git --no-pager push`: "git push", `git --no-pager stash push`: "",
		`git pushx`: "", `git commit -m push`: "", `git stash push`: "", `git commit -m "git push"`: "", `env`: "", `A=b`: "",
		`git send-pack x`: "", `echo x > prot/f; rm -r prot`: "", `git push; "`: "", ``: "", `((`: "", `# git push`: "",
		strings.Repeat("a b; ", 1e5) + "git push": "git push", `env A=git`: "",

		`rm -rf /`: "rm -rf /", `rm -fr /*`: "rm -rf /*", `rm -Rf //`: "rm -rf /", `rm -rf a`: "", `rm -rf "$D/"`: "",
		`git clean -n -xdf`: "git clean -fdx", `git clean --force -d -x`: "git clean -fdx", `git clean -fx`: "",
		`curl http://x`: "curl", `a=$(curl -s x)`: "curl", `command -v curl`: "", `which curl`: "", `go test ./curl`: "",
		`echo --== a ==; curl x`: "curl", `ncat x 80`: "nc*", `exec 3<>/dev/tcp/h/80`: "",
		`npm publish`: "npm publish", `npm --prefix web publish`: "npm publish", `npm -s publish`: "npm publish",
		`gh -R o/r pr create`: "gh pr create", `gh --repo o/r pr list`: "", `npm --prefix=web run publish`: "",
		`go get x@v1`: "Bash(go get:*)", `make deploy`: "Bash(make deploy)", `make deploy now`: "",
		`npm run deploy-x`: "Bash(npm run deploy*)", `npm run deploy:y -- a`: "Bash(npm run deploy*)",
		`npm run deploy`: "Bash(npm run deploy*)", `npm run build`: "", `npm run "$X"`: "",
		`pip install x y`: "Bash(pip install x y)", `pip install x "$Y"`: "",

		`./a.sh`: "./a.sh", `b/a.sh`: "", `scripts/b.sh -x`: "scripts/b.sh", `scripts/c.sh`: "scripts/c*", `c.sh`: "",
		`sudo -n; env /usr/bin/wget x`: "sudo", `/usr/bin/wget x`: "/usr/bin/wget", `wget x`: "",
		`./d.sh`: "Bash(./d.sh:*)", `./d.sh now`: "Bash(./d.sh:*)", `scripts/e.sh`: "Bash(scripts/e.sh)",
		`git commit -m "x y"`: `Bash(git commit -m "x y")`, `git commit -m 'x y'`: `Bash(git commit -m "x y")`,
		`git commit -m "x"`: "", `git tag "x y" -m "(z" -f`: `Bash(git tag 'x y' -m "\(z":*)`,

		`-x; git push`: "git push", `-- ; curl x`: "curl", `echo a; -n; rm -rf /`: "rm -rf /", `-- git push`: "",
		`"" ; git push`: "git push",

		`git -P stash push`: "", `git -P log push`: "", `git --bare log push`: "", `git --paginate log push`: "",
		`git --exec-path=x stash push`: "", `git -C push status`: "", `git -c a=b stash push`: "", `git -P push`: "git push",
		`git --git-dir x --work-tree y push`: "git push", `git --git-dir=x --namespace -n push`: "git push",
		`git --config-env a=B push`: "git push", `git --bare -C x push`: "git push", `/usr/bin/git -C x push`: "git push",
	} {
		got := New(rules).Before(bash(command))
		if strings.TrimPrefix(got.Rule, "deny: ") != want {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
		if strings.ContainsAny(got.Target+got.Reason, "\n\x00") || got.Act == Deny && (got.Reason == "" || got.Target == "") {
			t.Errorf("%s: reason %q, target %q", command, got.Reason, got.Target)
		}
	}
	for command, want := range map[string]string{`git push`: "deny: git push", `tail -f log`: ""} {
		if got := New(rules).Before(Call{Tool: "Monitor", Input: bash(command).Input}); got.Rule != want {
			t.Errorf("Monitor of %s: %+v, want %q", command, got, want)
		}
	}
	for tool, want := range map[string]Act{"WebFetch": Deny, "mcp__mail__send": Deny, "mcp__mail__read": Pass,
		"WebSearch": Pass} {
		if got := New(rules).Before(Call{Tool: tool, Input: []byte(`{}`)}); got.Act != want {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}

// A person decides on calls of a pattern, but not on denied ones, and not on the task's own checks.
func TestAsk(t *testing.T) {
	t.Parallel()
	_, rules := project(t)
	rules.Ask, rules.Checks = []string{"git push", "make", "WebFetch", "Edit"}, []string{"make check"}
	rules.Deny, rules.Allowed = []string{"curl"}, []string{"Bash(make:*)"}
	for command, want := range map[string]Decision{
		`cd . && git push origin`: {Act: Ask, Rule: "git push", Target: "cd . && git push origin"},
		`make all`:                {Act: Ask, Rule: "make", Target: "make all"},
		`make check`:              {Act: Pass}, `git status`: {Act: Pass}, `git push && curl x`: {Act: Deny},
		`make all && git push && make b; git push`: {Act: Ask, Rule: "make", Others: "git push",
			Target: "make all && git push && make b; git push"},
	} {
		if got := New(rules).Before(bash(command)); got.Act != want.Act || want.Act == Ask && got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
	for input, want := range map[string]Act{`{"file_path":"src/a"}`: Ask, `{"file_path":"prot/f"}`: Deny} {
		if got := New(rules).Before(Call{Tool: "Edit", Input: []byte(input)}); got.Act != want {
			t.Errorf("Edit of %s: %+v", input, got)
		}
	}
	rules.Ask = append(rules.Ask, "Bash")
	if got := New(rules).Before(bash("make check")); got.Act != Ask || got.Rule != "Bash" {
		t.Errorf("a check by a tool about which a person is asked: %+v", got)
	}
	fetch := Call{Tool: "WebFetch", Input: []byte(`{"url":"http://x"}`)}
	if got := New(rules).Before(fetch); got.Act != Ask || got.Target != "http://x" {
		t.Errorf("WebFetch: %+v", got)
	}
}

// A permission rule of the plan that names a command, and the task's own checks, win over denied commands.
func TestAllowedCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, command string
		want          Act
	}{
		{"Bash(git push:*)", "git push", Pass}, {"Bash(git push:*)", "git push origin", Pass}, {"Bash(git push *)",
			"git push o", Pass},
		{"Bash(git push)", "git push", Pass}, {"Bash(git push)", "git push -f", Deny}, {"Bash(git push *main)",
			"git push o main", Pass},
		{"Bash(git push *main)", "git push o dev", Deny}, {"Bash", "git push", Deny}, {"Bash(*)", "git push", Deny},
		{"Bash(git status:*)", "git push", Deny}, {"Bash(git push:*)", "rm -rf /", Deny}, {"", "git push --dry-run", Pass},
		{"", "git push --dry-run && git push", Deny}, {`Bash(git push "a b")`, "git push 'a b'", Pass},
		{`Bash("*")`, "git push", Deny},
	} {
		_, rules := project(t)
		rules.Allowed, rules.Checks = []string{c.rule}, []string{"git push --dry-run"}
		if got := New(rules).Before(bash(c.command)); got.Act != c.want {
			t.Errorf("%s with %s: %+v", c.command, c.rule, got)
		}
	}
}

// Pushes are denied unless a command of the plan may push.
func TestDeniesPush(t *testing.T) {
	t.Parallel()
	allowing := func(rule string) Rules { return Rules{Deny: deny, Allowed: []string{rule}} }
	for _, c := range []struct {
		rules Rules
		want  bool
	}{
		{Rules{Deny: deny}, true}, {Rules{Deny: []string{"curl", "git"}}, true}, {Rules{}, false},
		{Rules{Deny: []string{"git push -f"}}, false}, {Rules{Deny: deny, Allowed: []string{"Bash"}}, true},
		{Rules{Deny: deny, Allowed: []string{"Bash(git push origin main)"}}, false},
		{Rules{Deny: deny, Allowed: []string{"Bash(git:*)"}}, false},
		{Rules{Deny: deny, Allowed: []string{"Bash(git status)"}, Checks: []string{"make"}}, true},
		{Rules{Deny: deny, Checks: []string{"make && git -C x push"}}, false},
		{allowing("Bash(git -C sub push:*)"), false}, {allowing("Bash(git -C *)"), false},
		{allowing("Bash(git -C sub *)"), false}, {allowing("Bash(git -C sub pu*)"), false},
		{allowing("Bash(/usr/bin/git push o)"), false}, {allowing("Bash(git*)"), false},
		{allowing("Bash(git * push)"), false}, {allowing("Bash(git pushx)"), true},
		{allowing("Bash(git -C sub stash push:*)"), true}, {allowing("Bash(git stash *)"), true},
		{allowing("Bash(git -C push status)"), true}, {allowing("Bash(cd x && git push)"), true},
		{allowing("Bash(git -C sub push"), true},
	} {
		if got := c.rules.DeniesPush(); got != c.want {
			t.Errorf("%+v: %v", c.rules, got)
		}
	}
}

// Editing tools write open files, and by edits declared ones.
func TestEdits(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	rules.Files = []string{filepath.Join(dir, "src", "a"), filepath.Join(dir, "doc")}
	rules.Allowed = []string{"Edit(//opt/app/**)", "Write(~/notes/*.md)", "Edit(gen/**)", "Edit(/prot/**)", "Read(//r/**)"}
	for _, c := range []struct{ edits, tool, path, rule string }{
		{EditsWorktree, "Edit", "prot/f", "protect"}, {EditsOff, "Write", dir + "/prot/f", "protect"},
		{EditsOff, "NotebookEdit", "prot/n", "protect"}, {EditsOff, "MultiEdit", ".claude/settings.json", "claude"},
		{EditsWorktree, "Write", "src/b", ""}, {EditsWorktree, "Write", "/tmp/wavex-temp/b", ""},
		{EditsWorktree, "Write", "/etc/b", "edits: worktree"}, {EditsWorktree, "Write", "../b", "edits: worktree"},
		{EditsWorktree, "Write", "/opt/app/x/y", ""}, {EditsWorktree, "Edit", "/home/u/notes/n.md", ""},
		{EditsFiles, "Write", "gen/x", ""}, {EditsWorktree, "Edit", "prot/x", "protect"},
		{EditsWorktree, "Edit", "/r/x", "edits: worktree"}, {EditsWorktree, "Edit", "/home/u/x", "edits: worktree"},
		{EditsWorktree, "Write", "/dev/shm/b", "edits: worktree"}, {EditsOff, "Write", "/etc/b", ""},
		{EditsFiles, "Write", "src/b", "edits: files"}, {EditsFiles, "Write", "src/a", ""}, {EditsFiles, "Write", "doc/b",
			""},
		{EditsFiles, "Edit", "/tmp/wavex-temp/b", ""}, {EditsFiles, "Edit", "prot/a", "protect"}, {EditsFiles, "Read",
			"prot/a", ""},
	} {
		rules.Edits = c.edits
		name := "file_path"
		if c.tool == "NotebookEdit" {
			name = "notebook_path"
		}
		input, err := json.Marshal(map[string]string{name: c.path})
		if err != nil {
			t.Fatal(err)
		}
		if got := New(rules).Before(Call{Tool: c.tool, Dir: dir, Input: input}); got.Rule != c.rule {
			t.Errorf("%s %s %s: %+v, want %q", c.edits, c.tool, c.path, got, c.rule)
		}
	}
}

// The reason names the declared files, and a call without a path passes.
func TestDeclaredFiles(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	rules.Edits = EditsFiles
	for i, want := range []string{"it declares none", "a", "a, b"} {
		rules.Files = []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}[:i]
		if got := New(rules).Before(write("c")); !strings.Contains(got.Reason, "("+want+")") {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := New(rules).Before(write("")); got.Act != Pass {
		t.Errorf("without a path: %+v", got)
	}
}

// A path in another spelling, by a link that exists or that points to a missing file, is the same path.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	for link, to := range map[string]string{"all": "prot", "new": "prot/none", "deep": "all"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, d := range []string{"d/x", "e/f/g"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"d/x/l": "../../.git/hooks/pre-commit", "e/f/g/y": "../../../d/x",
		"k": "e/f/g", "m": "k/../../../.git/hooks/n", "o": dir + "/k/../../../.git/hooks/n"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"d/x/l", "e/f/g/y/l", "k/y/l", "m", "o"} { // of missing files, by linked folders
		if got := New(rules).Before(write(file)); got.Rule != "git" {
			t.Errorf("%s: %+v", file, got)
		}
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"all/f", "new", "deep/f", alias + "/prot/f"} {
		if got := New(rules).Before(write(file)); got.Rule != "protect" {
			t.Errorf("%s: %+v", file, got)
		}
	}
	rules.Dir, rules.Root = alias, alias
	for file, want := range map[string]string{"src/f": "", "prot/f": "protect", dir + "/src/f": ""} {
		if got := New(rules).Before(write(file)); got.Rule != want {
			t.Errorf("in a linked directory: %s: %+v", file, got)
		}
	}
}

// Paths in directories of a name are closed at any depth.
func TestClosedAtAnyDepth(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	rules.Closed = []Closed{{Path: dir, In: ".claude", Patterns: []string{"settings*"}, Rule: "set", Why: "x"},
		{Path: dir, In: ".claude", Patterns: []string{"*"}, Except: []string{filepath.Join(dir, "own")}, Rule: "any",
			Why: "x"}}
	for file, want := range map[string]string{
		"a/b/.claude/settings.json": "set", ".claude/skills/s/SKILL.md": "any", "own/.claude/settings.local.json": "set",
		"own/.claude/agents/a": "", "a/.claudes/b": "", "claude/settings.json": "", "a/.claude": "",
		"own/.claude/.claude/settings.json": "set",
	} {
		if got := New(rules).Before(write(file)); got.Rule != want {
			t.Errorf("%s: %+v, want %q", file, got, want)
		}
	}
}

// Closed paths below which some are open, as .loop with the attempt's own tree in it.
func TestExcept(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	tree := filepath.Join(dir, ".loop", "worktrees", "R.1")
	rules.Dir, rules.Root = tree, tree
	rules.Closed = []Closed{{Path: filepath.Join(dir, ".loop"), Except: []string{tree}, Rule: "own", Why: "x"}}
	for file, want := range map[string]string{"a": "", "../R.2/a": "own", "../../journal.jsonl": "own",
		"../..": "own", dir + "/a": "edits: worktree"} {
		if got := New(rules).Before(write(file)); got.Rule != want {
			t.Errorf("%s: %+v, want %q", file, got, want)
		}
	}
}

// A pattern matches a path, and all in a folder that it matches. One that cannot be parsed closes everything.
func TestMatches(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{"a": true, "a/b": true, "a/b/c": true, "a/*": true, "*": true, ".": true,
		"[": true, "b": false, "a/b/c/d": false, "a/x": false, "*/c": false} {
		if Matches([]string{"x", pattern}, "a/b/c") != want {
			t.Errorf("%s matches: %v", pattern, !want)
		}
	}
	if Matches([]string{"*", "."}, "") {
		t.Error("the folder itself is matched")
	}
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"git push": "", "WebFetch": "", "mcp__a__*": "", "Bash(git push:*)": "", "rm -rf /": "", "": "names no command",
		" ": "names no command", "-f": "names no command", "*": "every command", "Bash(*)": "names no command",
		"Bash(x": "parenthesis",
		"git [":  "no pattern", "Mcp[": "no pattern", "Edit(src/*)": "permission rules", "--force": "names no command",
	} {
		_, err := ParsePattern(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if got := Denied([]string{"curl", "go test -race"}, "cd x && go test -v -race ./..."); got != "go test -race" {
		t.Errorf("it is denied by %q", got)
	}
	if got := Denied([]string{"curl"}, "go test ./curl"); got != "" {
		t.Errorf("it is denied by %q", got)
	}
}

// step is a call of a story with its result.
type step struct {
	tool, input, result string
	took                time.Duration
}

func (s step) call() Call {
	return Call{Tool: s.tool, Input: []byte(fmt.Sprintf(`{"command":%q,"n":%q}`, s.input, s.input))}
}

// play returns the acts of a story.
func play(rules Rules, story []step) (acts []Act) {
	j := New(rules)
	for _, s := range story {
		d := j.Before(s.call())
		if acts = append(acts, d.Act); d.Act == Pass {
			j.After(s.call(), Result{Output: []byte(s.result), Took: s.took})
		}
	}
	return acts
}

func times(n int, s ...step) (out []step) { return slices.Concat(slices.Repeat([][]step{s}, n)...) }

func acts(n int, a Act, then ...Act) []Act { return append(slices.Repeat([]Act{a}, n), then...) }

func TestRepetition(t *testing.T) {
	t.Parallel()
	a, b, c := step{"Read", "a", "x", 0}, step{"Bash", "b", "y", 0}, step{"Grep", "c", "z", 0}
	slow := step{"Bash", "sleep", "", waits}
	push := step{"Bash", "git push", "", 0}
	var other []step
	for i := range 30 {
		other = append(other, step{"Read", "a", fmt.Sprint(i), 0})
	}
	for name, s := range map[string]struct {
		story []step
		want  []Act
	}{
		"the same":            {times(8, a), acts(5, Pass, Deny, Deny, Stop)},
		"four":                {append(times(4, a), append(times(1, b), times(4, a)...)...), acts(9, Pass)},
		"other results":       {other, acts(30, Pass)},
		"a cycle of two":      {times(5, a, b), acts(6, Pass, Deny, Deny, Stop, Stop)},
		"a cycle of three":    {times(4, a, b, c), acts(9, Pass, Deny, Deny, Stop)},
		"calls that wait":     {times(20, slow), acts(20, Pass)},
		"waiting between":     {times(10, a, slow), acts(20, Pass)},
		"something else":      {append(append(times(6, a), b), a), acts(5, Pass, Deny, Pass, Pass)},
		"denied all the time": {times(8, push), append(acts(5, Deny), Deny, Deny, Stop)},
	} {
		_, rules := project(t)
		if got := play(rules, s.story); !slices.Equal(got, s.want) {
			t.Errorf("%s: %v, want %v", name, got, s.want)
		}
		rules.Repeat = 0
		if got := play(rules, s.story); slices.Contains(got, Stop) {
			t.Errorf("%s, without repeat: %v", name, got)
		}
	}
	_, rules := project(t)
	j := New(rules)
	for i := range 20 { // each agent by itself, and commands without their descriptions
		call := Call{Tool: "Bash", Agent: fmt.Sprint(i % 5), Input: []byte(fmt.Sprintf(`{"command":"ls","description":"%d"}`,
			i))}
		if d := j.Before(call); d.Act != Pass {
			t.Fatalf("%d: %+v", i, d)
		}
		j.After(call, Result{})
	}
	for range 2 {
		call := Call{Tool: "Bash", Agent: "0", Input: []byte(`{"command":"ls","description":"x"}`)}
		if d := j.Before(call); d.Act == Pass {
			j.After(call, Result{})
		} else if d.Rule != "repeat: 5" || !strings.Contains(d.Target, "ls") {
			t.Errorf("%+v", d)
		}
	}
}

// A loop of up to eight calls ends within ten calls of the threshold.
func TestLoopsEnd(t *testing.T) {
	t.Parallel()
	for size := 1; size <= maxCycle; size++ {
		var cycle []step
		for i := range size {
			cycle = append(cycle, step{"Read", fmt.Sprint(i), "same", 0})
		}
		_, rules := project(t)
		rounds := cycles
		if size == 1 {
			rounds = 5
		}
		got := play(rules, append([]step{{"Read", "first", "", 0}}, times(rounds+10, cycle...)...))
		if at := slices.Index(got, Stop); at < 0 || at > 1+rounds*size+10 {
			t.Errorf("a cycle of %d calls is stopped at call %d", size, at)
		}
	}
}

func FuzzLook(f *testing.F) {
	for _, s := range []string{`cd a && echo x > "$P/f" | tee b`, `for f in a b; do rm $f; done`, "sh <<E\nrm x\nE",
		`a=${b:-c} d`,
		`find . -exec rm {} +`, `git -C x push`, `echo {a,b}{c,d}`, `x=$((1+2)); echo $x`, `f() { f; }; f`,
		`eval eval eval x`} {
		f.Add(s)
	}
	_, rules := project(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, words := range commands(text) {
			if len(words) == 0 {
				t.Errorf("%q has a command without words", text)
			}
		}
		start := time.Now()
		d := New(rules).Before(bash(text))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %s", text, took)
		}
		if d.Act != Pass && d.Act != Deny || d.Act == Deny && d.Reason == "" {
			t.Errorf("%q: %+v", text, d)
		}
	})
}

// manyRules are the rules of a large plan: 200 patterns and 200 closed paths.
func manyRules(t testing.TB) Rules {
	dir, rules := project(t)
	for i := range 200 {
		rules.Deny = append(rules.Deny, fmt.Sprintf("tool%d deploy -f", i))
		rules.Closed = append(rules.Closed, Closed{Path: filepath.Join(dir, "check", fmt.Sprintf("f%d_test.go", i)),
			Rule: "r", Why: "w"})
	}
	return rules
}

// usual are commands and edits as agents make them.
func usual(dir string) []Call {
	return []Call{
		bash(`go build ./... && go vet ./internal/policy && go test -count=1 -run 'X|Y' ./internal/policy 2>&1 | tail -30`),
		bash(`cd src && for f in *.go; do sed -i 's/a/b/' "$f"; done; git add -A && git commit -q -m "change"`),
		bash("cat > src/new.go <<'EOF'\n" + strings.Repeat("// a line of code in a file\n", 200) + "EOF\ngofmt -l src"),
		bash(`python3 -c "import json; print(json.load(open('src/x.json'))['a'])"; grep -rn "x" src | sort | uniq -c | head`),
		{Tool: "Edit", Dir: dir, Input: []byte(`{"file_path":"` + dir + `/src/a.go","old_string":"a","new_string":"b"}`)},
		{Tool: "Read", Dir: dir, Input: []byte(`{"file_path":"` + dir + `/src/a.go"}`)},
	}
}

// With 200 patterns and 200 closed paths a decision takes less than 1 ms at the 99th percentile. Other work may
// interrupt a decision at any time, so of each the least of several samples counts. On a slow machine, or with the race
// detector, as much more is allowed as other code takes.
func TestDecisionIsQuick(t *testing.T) {
	t.Parallel()
	text := []byte("[" + strings.Repeat(`{"name":"a","list":[1,2,3]},`, 100) + "0]")
	const usually = 150 * time.Microsecond // at most, on the machine of docs/performance.md
	other := time.Hour
	for range 50 {
		var v any
		began := time.Now()
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		other = min(other, time.Since(began))
	}
	bound := time.Duration(max(1, float64(other)/float64(usually)) * float64(time.Millisecond))
	rules := manyRules(t)
	rules.Repeat = 0
	j := New(rules)
	calls := usual(rules.Dir)
	least := slices.Repeat([]time.Duration{time.Hour}, 40*len(calls))
	for sample := 1; ; sample++ {
		for i := range least {
			began := time.Now()
			if d := j.Before(calls[i%len(calls)]); d.Act != Pass {
				t.Fatalf("%+v", d)
			}
			least[i] = min(least[i], time.Since(began))
		}
		p99 := slices.Sorted(slices.Values(least))[len(least)*99/100]
		if p99 <= bound {
			t.Logf("sample %d: %s, of %s", sample, p99, bound)
			return
		}
		if sample == 100 {
			t.Fatalf("a decision takes %s at the 99th percentile, and may %s", p99, bound)
		}
	}
}
