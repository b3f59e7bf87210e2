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
		Deny: DefaultDeny(), Repeat: DefaultRepeat, Closed: []Closed{
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

// The 37 ways to write a protected file, and which of them the text tells. The diff after the attempt and the wall are
// for the others.
func TestWaysToWrite(t *testing.T) {
	t.Parallel()
	_, rules := project(t)
	for i, c := range []struct {
		command string
		want    Act
	}{
		{`echo x > prot/f`, Deny},
		{`echo x >> prot/f`, Deny},
		{`echo x >| prot/f`, Deny},
		{`ls &> prot/f`, Deny},
		{`: <> prot/f`, Deny},
		{`cd prot && echo x > f`, Deny},
		{`(cd src; cd ../prot; echo x > f)`, Deny},
		{`sed -i s/a/b/ prot/f`, Deny},
		{`echo x | tee -a prot/f`, Deny},
		{`cp src/a prot/f`, Deny},
		{`cp -t prot src/f`, Deny},
		{`mv src/a prot/f`, Deny},
		{`mv prot src/prot`, Deny},
		{`rm -rf prot`, Deny},
		{`ln -sf ../src/a prot/f`, Deny},
		{`ln -s prot l && echo x > l/f`, Deny},
		{`perl -pi -e s/a/b/ prot/f`, Deny},
		{`dd if=/dev/null of=prot/f`, Deny},
		{`sh -c 'echo x > prot/f'`, Deny},
		{`bash -lc "cd prot; touch f"`, Deny},
		{`eval "echo x > prot/f"`, Deny},
		{`python3 -c "open('prot/f','w').write('x')"`, Deny},
		{`(sleep 1; echo x > prot/f) &`, Deny},
		{`P=prot; echo x > $P/f`, Deny},
		{`find prot -name f -exec sed -i s/a/b/ {} +`, Deny},
		{`git mv src/a prot/f`, Deny},
		{`f() { echo x > "$1"; }; f prot/f`, Pass},
		{`echo x > $(echo prot)/f`, Pass},
		{`find . -name f -exec sed -i s/a/b/ {} +`, Pass},
		{`printf 'echo x > prot/f' > run.sh; sh run.sh`, Pass},
		{`python3 -c "open('pr'+'ot/f','w').write('x')"`, Pass},
		{`git apply change.patch`, Pass},
		{`echo prot/f | xargs sh -c 'echo x > "$0"'`, Pass},
		{`echo ZWNobyB4ID4gcHJvdC9m | base64 -d | sh`, Pass},
		{`tar xf a.tar`, Pass},
		{`printf 'all:\n\techo x > prot/f\n' | make -f -`, Pass},
		{`git checkout other -- prot/f`, Pass},
	} {
		if got := New(rules).Before(bash(c.command)); got.Act != c.want {
			t.Errorf("%d: %s: %+v, want %s", i+1, c.command, got, c.want)
		}
	}
}

// Ways to write that the others do not show, and ordinary commands that must pass.
func TestCommands(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	if err := os.Symlink(filepath.Join(dir, "prot"), filepath.Join(dir, "src", "link")); err != nil {
		t.Skip(err)
	}
	for command, want := range map[string]string{
		`rm -rf src/../prot/`: "protect", `rm pr*/f`: "protect", `rm -r *`: "protect", `truncate -s 0 prot/{a,b}`: "protect",
		`echo x > src/link/f`: "protect", `echo x > gold/a.txt`: "protect", `rm -rf gold`: "protect", `rm -rf .git`: "git",
		`git config core.hooksPath x`: "git", `git -C . config --add a.b c`: "git", `cp x .git/hooks/pre-commit`: "git",
		`for f in a prot/b; do echo > $f; done`: "protect", `echo > .claude/settings.local.json`: "claude",
		`cat <<E | sh` + "\nx\nE\n" + `sh <<E` + "\nrm prot/f\nE": "protect", `sudo -u x rm prot/f`: "protect",
		`env A=b timeout 5 touch prot/f`: "protect", `if true; then rm prot/f; fi`: "protect", `a=$(rm prot/f)`: "protect",
		`diff <(rm prot/f) x`: "protect", `while read l; do echo $l > prot/x; done`: "protect", `echo x > prot/$Y`: "protect",
		`tar -xf a.tar -C prot`: "protect", `curl -o prot/f http://x`: "protect", `chmod +x prot/f`: "protect",
		`find prot -delete`: "protect", `echo x > ../out`: "edits: worktree", `cd .. && touch f`: "edits: worktree",
		`touch /etc/x`: "edits: worktree", `echo x > ~/.bashrc`: "edits: worktree", `cp a $HOME/b`: "edits: worktree",
		`rm -rf /`: "deny: rm -rf /", `rm -fr /*`: "deny: rm -rf /*", `rm -f *`: "protect", `rm -rf ~`: "edits: worktree",
		`git clean -fdx`: "deny: git clean -fdx",

		`python3 -c "print('{}'.format(open('prot/f').read()) > 'a')"`:                          "",
		`node -e "console.log(fs.readFileSync('prot/f').replace('a', 'b').map(x => x))"`:        "",
		`python3 -c "import sys; l = []; l.append(1); sys.stdout.write(open('prot/f').read())"`: "",
		`ruby -e "puts File.read('prot/f').lines.select { |l| l > 'a' }"`:                       "",
		`perl -MFile::Find -ne 'print' prot/f`:                                                  "",
		`perl -Ilib -e 'open F, "<", "prot/f"; print <F>'`:                                      "",
		`git config --file .gitmodules submodule.a.url x`:                                       "",
		`git config --file .git/config a.b c`:                                                   "git",
		`git config --file=.git/config a.b c`:                                                   "git",
		`git config -f .git/config --get a.b`:                                                   "",
		`git config --worktree a.b c`:                                                           "git",
		`node -e "require('fs').appendFileSync('prot/f', 'x')"`:                                 "protect",
		`node -e "require('fs').rmSync('prot/f')"`:                                              "protect",
		`python3 -c "import shutil; shutil.rmtree('prot')"`:                                     "protect",
		`python3 -c "import pathlib; pathlib.Path('prot/f').write_text('x')"`:                   "protect",
		`python3 -c "import os; os.replace('src/a', 'prot/f')"`:                                 "protect",
		`python3 - <<'E'` + "\nwith open('prot/f', mode='a+') as f:\n  f.write('x')\nE":         "protect",
		`ruby -e "File.write('prot/f', 'x')"`:                                                   "protect",
		`perl -e 'open F, ">", "prot/f"; print F "x"'`:                                          "protect",
		`perl -i.bak -pe s/a/b/ prot/f`:                                                         "protect",

		`cat prot/f > src/x`: "", `cp prot/f src/f`: "", `ls -l prot`: "", `grep -rn x prot | sort`: "",
		`go test ./... 2>&1 | tail`: "",
		`sed -n 1,20p prot/f`:       "", `sed -i '/foo/d' src/a`: "", `perl -ne 'print if /x/' prot/f`: "",
		`make > /dev/null 2>&1`:               "",
		`go build -o /tmp/wavex-temp/x ./...`: "", `echo $VAR > $OUT`: "", `cd "$D" && echo x > f`: "",
		`rm -rf node_modules`:                  "",
		`find . -name '*.o' -exec rm -rf {} +`: "", `find . -name '*.o' -delete`: "",
		`git add -A && git commit -m "git push it"`: "",
		`git config --get user.name`:                "", `git config user.name`: "", `git config --global a b`: "",
		`git clean -fd`:                       "",
		`git fetch origin && git rebase main`: "", `python3 -c "print(open('prot/f').read())"`: "",
		`mkdir -p src/a && touch src/a/b`: "",
		`rm -f *.o`:                       "", `echo done`: "",
		`cat <<E > src/x` + "\nprot/f\nE": "", `git log --format=%s -- prot`: "",
		`test -f prot/f || exit 1`: "", `rsync -a prot/ src/`: "", `tar cf a.tar prot`: "", `ln -s ../src/a b`: "",
		`cd prot; ls; cd ..; touch x`: "", `cp src/* .`: "", `mv src/*.txt ./`: "", `cp src/* prot`: "protect",

		// Code that reads a closed file and writes another, and code that writes the closed one.
		`python3 -c "d = json.load(open('prot/f')); open('src/o', 'w').write(str(d))"`:                      "",
		`python3 -c "open('src/o', 'w').write(open('prot/f', 'rb', encoding='utf-8').read())"`:              "",
		`python3 -c "import pathlib; pathlib.Path('src/o').write_text(pathlib.Path('prot/f').read_text())"`: "",
		`node -e "fs.writeFileSync('src/a', fs.readFileSync('prot/f', 'utf8'))"`:                            "",
		`ruby -e "File.write('src/a', File.read('prot/f'))"`:                                                "",
		`node -e "fs.writeFileSync('prot/f', fs.readFileSync('prot/f', 'utf8').trim())"`:                    "protect",
		`python3 -c "s = open('prot/f').read(); open('prot/f', 'w').write(s)"`:                              "protect",
		`python3 -c "p = 'prot/f'; s = open(p).read(); open(p, 'w').write(s)"`:                              "protect",
		`python3 -c "open('prot/f', 'r+').write('x')"`:                                                      "protect",
		`python3 -c "import shutil; shutil.copy('src/a', 'prot/f')"`:                                        "protect",
		`cp --target-directory prot src/a`:                                                                  "protect",
		`echo x | sponge prot/f`:                                                                            "protect",
		`gofmt -w prot/f.go`:                                                                                "protect",

		`gofmt -l prot`:                   "",
		`yq -i .a prot/f`:                 "protect",
		`yq .a prot/f`:                    "",
		`npx prettier --write src prot/f`: "", `prettier --write prot/f`: "protect", `prettier --check prot/f`: "",

		// A word that is no flag, redirections of both outputs, and commands in places of their own.
		`echo --== a ==; rm prot/f`: "protect", `echo x >& prot/f`: "protect", `echo x 2>&1 >&- | cat`: "",
		`x=($(rm prot/f))`: "protect", `[[ -n $(rm prot/f) ]]`: "protect", `((x = $(rm prot/f)))`: "protect",
		`let "x=$(rm prot/f)"`: "protect", `for ((i=$(rm prot/f);;)); do :; done`: "protect",
		`trap 'rm prot/f' EXIT`: "protect", `trap - EXIT`: "", `flock l rm prot/f`: "protect",
		`watch -n 5 rm prot/f`: "protect",

		// The directory after pushd, popd, cd - and branches of which one runs.
		`pushd src; make; popd; echo x > prot/f`: "protect", `popd; echo x > prot/f`: "",
		`cd src && make; cd -; echo x > prot/f`: "protect", `cd prot; pushd ../src; popd; echo x > f`: "protect",
		`cd src && make || { cd ..; exit 1; }; cd ..; echo x > y`:           "",
		`make || { cd ..; exit 1; }; echo x > y`:                            "",
		`make && { cd ..; exit; }; echo x > y`:                              "",
		`cd src; if make; then cd ..; else cd ..; fi; echo x > y`:           "",
		`cd src; if make; then cd ..; else cd ..; fi; echo x > prot/f`:      "protect",
		`cd src; if ! make; then cd ..; exit 1; fi; cd ..; echo x > y`:      "",
		`cd src; if ! make; then cd ..; exit 1; fi; cd ..; echo x > prot/f`: "protect",
		`if [ -d a ]; then cd prot; fi; echo x > f`:                         "protect",
		`[ -d a ] || cd prot; echo x > f`:                                   "protect",
		`if a; then cd src; elif b; then cd prot; echo x > f; fi`:           "protect",
		`cd src || exit 1; echo x > ../prot/f`:                              "protect",

		// Words with an unknown part, and expansions whose value the text tells.
		`echo x > "prot/$(date +%F).log"`: "protect", `echo x > "$(pwd)/prot/f"`: "protect",
		"echo x > `pwd`/prot/f":    "protect",
		`D=$(pwd)/prot; rm "$D/f"`: "protect", `D=prot; rm -rf "${D:?}/f"`: "protect", `D=prot; rm "${D:-src}/f"`: "protect",
		`T=$(mktemp -d); echo x > "$T/prot/f"; rm -rf "$T"`: "", `rm "${D:-$(ls)}/f"`: "",

		// Options before the command of another one, and shells with more options than -c.
		`bash -euo pipefail -c "rm prot/f"`: "protect", `bash -o pipefail -c "cd prot; touch f"`: "protect",
		`bash --norc -O extglob -c -e "rm prot/f"`: "protect", `sh -e run.sh -c "rm prot/f"`: "",
		"bash -s a b <<'E'\nrm prot/f\nE": "protect", "bash run.sh <<'E'\nrm prot/f\nE": "",
		`timeout --signal KILL 5 rm prot/f`: "protect", `sudo -iu x rm prot/f`: "protect",
		`xargs -d'\n' rm prot/f`: "protect",
		`command -p rm prot/f`:   "protect", `find -L prot -delete`: "protect", `find -H src -name f -exec rm {} +`: "",

		// Flags that take no value, and those that take one.
		`shred -u prot/f`: "protect", "ed -s prot/f <<E\nw\nE": "protect", `shred -n 3 src/a`: "", `touch -d now src/a`: "",
		`sed -i '' '/foo/d' src/a`: "", `sed -i '' '/foo/d' prot/f`: "protect",
		`curl -sSLo prot/f http://x`: "protect", `curl -fsSL -o- http://x`: "", `wget -qO prot/f http://x`: "protect",
		`sort -uo prot/f src/a`: "protect", `curl -so/dev/null http://x`: "",
		`tar -C prot -xf a.tar`: "protect", `tar --directory prot -xzf a.tgz`: "protect",
		`tar --exclude=x -czf a.tgz -C prot .`: "", `tar -cf x.tar -C prot .`: "", `tar -C prot -tf x.tar`: "",
		`git config --remove-section a`: "git", `git config --type bool core.bare`: "",
		`touch -r /etc/hosts src/a`: "", `{1..99999999}`: "", `echo {1..999999999}`: "", `"`: "", ``: "", `((`: "",
	} {
		got := New(rules).Before(bash(command))
		if got.Rule != want || (got.Act == Pass) != (want == "") {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
		if strings.ContainsAny(got.Reason, "\n\x00") || got.Act == Deny && (got.Reason == "" || got.Target == "") {
			t.Errorf("%s: reason %q, target %q", command, got.Reason, got.Target)
		}
	}
}

// Ten ways to push and ten ways to the network, with the verdict of each.
func TestDeniedCommands(t *testing.T) {
	t.Parallel()
	_, rules := project(t)
	rules.Deny = append(rules.Deny, "git send-pack", "gh pr create", "curl", "wget", "nc*", "ssh", "npm publish",
		"pip install",
		"Bash(go get:*)", "Bash(make deploy)", "Bash(npm run deploy*)", "WebFetch", "mcp__*__send")
	for command, want := range map[string]string{
		`git push`: "git push", `git -C . -c a=b push origin main`: "git push", `/usr/bin/git push -f`: "git push",
		`command git push`: "git push", `sh -c 'git push'`: "git push", `make && "git" 'push'`: "git push",
		`GIT=git; $GIT push`: "git push", `git send-pack x`: "git send-pack", `$(echo git) push`: "",
		`python3 -c "import os; os.system('git push')"`: "",

		`curl http://x`: "curl", `a=$(curl -s x)`: "curl", `echo x | xargs -n 1 curl`: "curl", `wget -q x`: "wget",
		`ncat x 80`:          "nc*",
		`timeout 5 ssh h ls`: "ssh", `npm publish`: "npm publish", `bash -c "echo; pip install x"`: "pip install",
		`go get x@v1`: "Bash(go get:*)", `exec 3<>/dev/tcp/h/80`: "",

		`make deploy`: "Bash(make deploy)", `make deploy now`: "", `git pushx`: "", `git commit -m push`: "",
		`git stash push`: "",
		`go test ./curl`: "", `echo curl`: "", `npm test`: "", `git clean -n -xdf`: "git clean -fdx",
		`git clean --force -d -x`: "git clean -fdx",
		`git clean -fx`:           "",

		`echo --== a ==; git push`: "git push", `echo '--=x' && git push`: "git push",
		`bash -eo pipefail -c "git push"`: "git push",
		`command -v curl`:                 "", `command -V curl >/dev/null || exit`: "", `which curl`: "",
		`npm --prefix web publish`: "npm publish", `npm -s publish`: "npm publish", `gh -R o/r pr create`: "gh pr create",
		`npm --prefix=web run publish`: "", `npm run publish`: "", `gh --repo o/r pr list`: "",
		`npm run deploy-x`: "Bash(npm run deploy*)", `npm run deploy:y -- a`: "Bash(npm run deploy*)",
		`npm run deploy`: "Bash(npm run deploy*)", `npm run build`: "",
	} {
		got := New(rules).Before(bash(command))
		if strings.TrimPrefix(got.Rule, "deny: ") != want {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
	for command, want := range map[string]string{`git push`: "deny: git push", `echo x > prot/f`: "protect",
		`tail -f log`: ""} {
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
		`make check`:              {Act: Pass}, `git status`: {Act: Pass}, `git push; rm prot/f`: {Act: Deny},
		`git push && curl x`: {Act: Deny},
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
		{"Bash(git status:*)", "git push", Deny}, {"Bash(git push:*)", "rm -rf prot", Deny}, {"", "git push --dry-run", Pass},
		{"", "git push --dry-run && git push", Deny},
	} {
		_, rules := project(t)
		rules.Allowed, rules.Checks = []string{c.rule}, []string{"git push --dry-run"}
		if got := New(rules).Before(bash(c.command)); got.Act != c.want {
			t.Errorf("%s with %s: %+v", c.command, c.rule, got)
		}
	}
}

// Editing tools get the same answers as commands, and by edits those about declared files.
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

// A path in another spelling, by a link that exists or that points to a missing file, is the same path.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	for link, to := range map[string]string{"all": "prot", "new": "prot/none", "deep": "all"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"echo x > all/f", "echo x > new", "echo x > deep/f",
		"echo x > " + alias + "/prot/f"} {
		if got := New(rules).Before(bash(command)); got.Rule != "protect" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	rules.Dir, rules.Root = alias, alias
	for command, want := range map[string]string{"echo x > src/f": "", "echo x > prot/f": "protect"} {
		if got := New(rules).Before(bash(command)); got.Rule != want {
			t.Errorf("in a linked directory: %s: %+v", command, got)
		}
	}
}

// Paths in directories of a name are closed at any depth. A folder with such a directory in it is open: its name does
// not tell.
func TestClosedAtAnyDepth(t *testing.T) {
	t.Parallel()
	dir, rules := project(t)
	rules.Closed = []Closed{{Path: dir, In: ".claude", Patterns: []string{"settings*"}, Rule: "set", Why: "x"},
		{Path: dir, In: ".claude", Patterns: []string{"*"}, Except: []string{filepath.Join(dir, "own")}, Rule: "any",
			Why: "x"}}
	if err := os.MkdirAll(filepath.Join(dir, "own", ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"echo x > a/b/.claude/settings.json": "set", "echo x > .claude/skills/s/SKILL.md": "any", "rm -r a/.claude": "set",
		"mkdir -p a/.claude/agents": "any", "cp x own/.claude/settings.local.json": "set", "rm a/.cl*/agents": "any",
		"echo x > own/.claude/agents/a": "", "rm -r a": "", "mkdir a/.claude": "", "echo x > a/.claudes/b": "",
		"rm */agents": "", "echo x > claude/settings.json": "",
		// a/.claude is missing, and own/.claude is there. Files of unknown names may come into them.
		"mv x a/.claude": "any", "cp -r x a/.claude": "any", "ln -s ../x a/.claude": "any", "ln -s $X a/.claude": "any",
		"cp -r x/. a/.claude": "set", "cp -r . a/.claude": "set", "rsync -a x/ a/.claude": "set", "mv x/* a/.claude/": "set",
		"cp -t a/.claude x/*": "set", "mv -T x a/.claude": "any", "cp x/* a/.claude/skills": "any",
		"git mv x a/.claude":              "set",
		"cd a/.claude && tar xf ../x.tar": "set", "cd a/.claude && tar --extract -f ../x.tar": "set", "tar xf x.tar": "",
		"cd a/.claude && tar -tf ../x.tar": "", "cd own/.claude && tar --exclude=x -cf ../x.tar .": "",
		"tar -xf x.tar -C a/.claude": "set", "unzip x.zip -d a/.claude": "set", "git clone -q x a/.claude": "set",
		"git worktree add -f a/.claude": "set", "cd a/.claude && cp -r ../x/. .": "set", "cd a && ln -s ../x .claude": "any",
		"wget -P a/.claude http://x": "set", "mv x own/.claude": "", "cp -r x/. own/.claude": "set",
		"mv x/*.md own/.claude":        "",
		"rsync -a x/ own/.claude":      "set",
		"cp -r x/. own/.claude/agents": "", "cp -r x/* a": "", "mv x b": "", "cp -r x/. .": "", "ln -s ../x a/b": "",
		"tar -xf x.tar -C a": "", "git clone -q x a/b": "", "cp x own/.claude": "", "cp -r a/.claude x": "",
		"mv x own/a/.claude": "set", "ln -s ../x own/a/.claude": "set", "cp x own/a/.claude/b": "", "mv own/.claude x": "set",
	} {
		if got := New(rules).Before(bash(command)); got.Rule != want {
			t.Errorf("%s: %+v, want %q", command, got, want)
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
	for command, want := range map[string]string{
		"echo x > a": "", "echo x > ../R.2/a": "own", "rm ../../journal.jsonl": "own",
		"echo > " + dir + "/a": "edits: worktree",
	} {
		if got := New(rules).Before(bash(command)); got.Rule != want {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"git push": "", "WebFetch": "", "mcp__a__*": "", "Bash(git push:*)": "", "rm -rf /": "", "": "names no command",
		" ": "names no command", "-f": "", "*": "every command", "Bash(*)": "names no command", "Bash(x": "parenthesis",
		"git [": "no pattern", "Mcp[": "no pattern", "Edit(src/*)": "permission rules", "--force": "names no command",
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
			rounds = DefaultRepeat
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
		lookAt(text, rules.Dir, nil, func(e effect) {
			if e.path != "" && !strings.HasPrefix(e.path, "/") {
				t.Errorf("%q writes %q", text, e.path)
			}
		})
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

func BenchmarkDecision(b *testing.B) {
	rules := manyRules(b)
	rules.Repeat = 0
	j := New(rules)
	calls := usual(rules.Dir)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		for _, c := range calls {
			start := time.Now()
			if d := j.Before(c); d.Act != Pass {
				b.Fatalf("%+v", d)
			}
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// With 200 patterns and 200 closed paths a decision takes less than 1 ms at the 99th percentile. On a machine with
// other work a sample may miss that, and every sample would if the code were slower. On a slow machine, or with the
// race detector, as much more is allowed as other code takes.
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
	for sample := 1; ; sample++ {
		var took []time.Duration
		for range 40 { // few, so that a sample fits into a time slice
			for _, c := range usual(rules.Dir) {
				began := time.Now()
				if d := j.Before(c); d.Act != Pass {
					t.Fatalf("%+v", d)
				}
				took = append(took, time.Since(began))
			}
		}
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		if p99 <= bound {
			t.Logf("sample %d: %s, of %s", sample, p99, bound)
			return
		}
		if sample == 1000 {
			t.Fatalf("a decision takes %s at the 99th percentile, and may %s", p99, bound)
		}
	}
}
