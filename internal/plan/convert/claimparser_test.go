package convert

// This file checks the conversion of words: unambiguous words become a check, others stay words.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

func TestClaimParser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, text string
		files      string // of the task
		want       string // checks, as JSON
		manual     bool
	}{
		{"file", "hooks/hooks.json exists", "hooks/hooks.json", `{"file":"hooks/hooks.json"}`, false},
		{"file", "hooks.json exists.", "hooks/hooks.json", `{"file":"hooks/hooks.json"}`, false},
		{"file", ".data/usage.json exists with valid JSON structure", ".data/usage.json", `{"file":".data/usage.json"}`,
			true},
		{"file", ".gitignore contains .data/usage.json", ".gitignore", `{"file":".gitignore","contains":".data/usage.json"}`,
			false},
		{"file", "hooks/hooks.json contains PostToolUse configuration", "hooks/hooks.json", `{"file":"hooks/hooks.json"}`,
			true},
		{"file", "old.md does not exist", "old.md", ``, true},
		{"content", `File contains "Stop" hook type`, "hooks/hooks.json", `{"file":"hooks/hooks.json","contains":"Stop"}`,
			false},
		{"content", `Script contains shebang "#!/usr/bin/env bash"`, "a/b.sh",
			`{"file":"a/b.sh","contains":"#!/usr/bin/env bash"}`, false},
		{"content", `execute.md contains "Step 7a"`, "commands/execute.md",
			`{"file":"commands/execute.md","contains":"Step 7a"}`, false},
		{"content", `execute.md contains "Step 7a"`, "", `{"file":"execute.md","contains":"Step 7a"}`, false},
		{"content", `File contains "x"`, "a.md b.md", ``, true},
		{"content", `a.md contains "x"`, "one/a.md two/a.md", ``, true},
		{"content", `two/a.md contains "x"`, "one/a.md two/a.md", `{"file":"two/a.md","contains":"x"}`, false},
		{"content", `a.md contains "x" and "y"`, "a.md", `{"file":"a.md","contains":"x"}{"file":"a.md","contains":"y"}`,
			false},
		{"content", `a.md contains "x.y" or "z"`, "a.md", `{"file":"a.md","matches":"x\\.y|z"}`, false},
		{"content", `a.md contains no "x"`, "a.md", ``, true},
		{"content", `a.md does not contain "x"`, "a.md", ``, true},
		{"content", `a.md contains "x" at least twice`, "a.md", `{"file":"a.md","contains":"x"}`, true},
		{"content", `Script reads loop state from STATE.md`, "a.sh", ``, true},
		{"", "File `config.ts` contains `apiUrl`", "", `{"file":"config.ts","contains":"apiUrl"}`, false},
		{"", "File `src/routes/settings.tsx` exists", "", `{"file":"src/routes/settings.tsx"}`, false},
		{"", "Section header '## Debt' exists in verifier", "v.md", ``, true},
		{"", "Component `Form` exported from `src/components/`", "", ``, true},
		{"", "execute.md contains a numbered Step 4c that calls TaskCreate", "commands/execute.md", ``, true},
		{"", "Run `npm test -- settings` → exits code 0", "", `{"run":"npm test -- settings"}`, false},
		{"", "`go vet ./...` passes", "", `{"run":"go vet ./..."}`, false},
		{"", "`Settings` is shown", "", ``, true},
		{"", "npm test passes", "", `{"run":"npm test"}`, false},
		{"", "git status is clean", "", ``, true},
		{"console", "npm run build", "", `{"run":"npm run build"}`, false},
		{"console", "The console shows no errors", "", ``, true},
		{"console", "node run.js shows an entry", "", ``, true},
		{"manual", "npm test", "", ``, true},
		{"grep", "grep -q x a.md", "", `{"run":"grep -q x a.md"}`, false},
		{"content", `/etc/passwd contains "root"`, "", ``, true},
		{"content", `../x.md contains "root"`, "", ``, true},
		{"content", `a.md contains "x`, "a.md", ``, true},
		{"content", `File contains "k" and is valid TypeScript`, "a.ts", `{"file":"a.ts","contains":"k"}`, true},
		{"content", `a.ts contains "k" that calls "l"`, "a.ts", `{"file":"a.ts","contains":"k"}`, true},
		{"content", `a.ts exports "k" and README.md mentions "l"`, "a.ts", `{"file":"a.ts","contains":"k"}`, true},
		{"content", `a.ts exports "k" or README.md mentions "l"`, "a.ts", ``, true},
		{"content", `a.ts contains "k" instead of "l"`, "a.ts", ``, true},
		{"content", "a.ts has zero `TODO`", "a.ts", ``, true},
		{"content", "a.ts has 0 `TODO`", "a.ts", ``, true},
		{"content", "a.ts contains fewer than three `TODO`", "a.ts", ``, true},
		{"content", "a.ts contains `k` 1.0", "a.ts", `{"file":"a.ts","contains":"k"}`, true},
		{"content", "a.ts contains `k  l`", "a.ts", `{"file":"a.ts","contains":"k  l"}`, false},
		{"", "~/.config/x.json exists", "", ``, true},
		{"", "git status clean", "", ``, true},
		{"", "git status --porcelain empty", "", ``, true},
		{"", "pytest tests pass", "", ``, true},
		{"", "tsc clean.", "", ``, true},
		{"", "npm test runs cleanly", "", ``, true},
		{"", "npm run clean", "", `{"run":"npm run clean"}`, false},
		{"", "make clean all", "", `{"run":"make clean all"}`, false},
		{"", "mvn -q clean install", "", `{"run":"mvn -q clean install"}`, false},
		{"", "npx vitest run", "", `{"run":"npx vitest run"}`, false},
		{"", "grep -q ok out.txt", "", `{"run":"grep -q ok out.txt"}`, false},
		{"", "Run  `pytest -k empty`  →\nexits  0", "", `{"run":"pytest -k empty"}`, false},
		{"", "Run `grep -q \"  - name\"\tci.yml`", "", `{"run":"grep -q \"  - name\"\tci.yml"}`, false},
		{"", "Run `npm\n  test`", "", `{"run":"npm test"}`, false},
		{"console", "grep  -q '  - name'  ci.yml", "", `{"run":"grep -q '  - name' ci.yml"}`, false},
		{"content", `a.ts exports "k"`, "a.ts", `{"file":"a.ts","contains":"k"}`, false},
	} {
		t.Run(c.kind+" "+c.text, func(t *testing.T) {
			t.Parallel()
			task := &importedTask{id: phrase{text: "1"}, claims: []claim{{kind: c.kind, phrase: phrase{text: c.text}}}}
			for _, f := range strings.Fields(c.files) {
				task.files = append(task.files, importedFile{path: phrase{text: f}})
			}
			f := &importedPlan{DiagnosticList: new(plan.DiagnosticList), tasks: []*importedTask{task}}
			f.convertClaim(newClaimParser(f), task, task.claims[0])
			var got string
			for _, n := range task.checks {
				got += string(n.AppendJSON(nil))
			}
			if got != c.want || (len(task.manual) == 1) != c.manual {
				t.Errorf("got  %s, words %v\nwant %s", got, task.manual, c.want)
			}
			if c.manual != (len(f.DiagnosticList.Resolve("x", func(source.Location) plan.Pos { return plan.Pos{} })) == 1) {
				t.Error("a check in words is told")
			}
		})
	}
}

// Words that only describe a quoted text do not make a criterion; the description has them.
func TestDescribingWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a.md contains "k"`:                      "[]",
		`a.md has "k" and "l".`:                  "[]",
		`a.md contains k`:                        "[]",
		"a.md exists":                            "[]",
		`a.md contains a "k" section`:            `[Check: a.md contains a "k" section]`,
		`a.md defines "k"`:                       `[Check: a.md defines "k"]`,
		`a.md contains "k" and is of good taste`: "[]", // a criterion
	} {
		task := &importedTask{id: phrase{text: "1"}, files: []importedFile{{path: phrase{text: "a.md"}}},
			claims: []claim{{phrase: phrase{text: text}}}}
		f := &importedPlan{DiagnosticList: new(plan.DiagnosticList), tasks: []*importedTask{task}}
		f.convertClaim(newClaimParser(f), task, task.claims[0])
		if got := fmt.Sprint(task.sections); got != want || len(task.checks) == 0 {
			t.Errorf("%s: sections %s, want %s", text, got, want)
		}
	}
}

func TestCommandsWithWords(t *testing.T) {
	t.Parallel()
	task := &importedTask{id: phrase{text: "1"}, claims: []claim{
		{kind: "grep", command: "grep -A3 tools: a.md", phrase: phrase{text: "Has Glob"}},
		{kind: "console", command: "make check", phrase: phrase{text: "exits with 0"}},
		{kind: "console", command: "make", phrase: phrase{text: "builds the thing"}},
		{kind: "console", command: "make", phrase: phrase{text: "every handler passes"}},
		{kind: "timing", command: "make bench"},
	}}
	f := &importedPlan{DiagnosticList: new(plan.DiagnosticList), tasks: []*importedTask{task}}
	for _, one := range task.claims {
		f.convertClaim(newClaimParser(f), task, one)
	}
	if len(task.checks) != 5 || len(task.manual) != 1 ||
		task.manual[0].text != "Has Glob (as grep -A3 tools: a.md shows)" ||
		fmt.Sprint(task.sections) !=
			"[Check: make (builds the thing) Check: make (every handler passes) Check (timing): make bench]" {
		t.Errorf("got %+v", task)
	}
}

// Commands of foreign prose become checks only if they test or read, and end.
func TestCheckCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"go test ./...": true, "npm test": true, "npm run lint:css": true, "make check": true,
		"pytest -q && ruff check .": true,
		"test -f a.txt":             true, "npx tsc --noEmit": true, "uv run pytest": true, "tsc": true,
		"test the login": false, "make destroy": false, "make it": false, "go run .": false, "npm run dev": false,
		"ls":                 false,
		"npm run test:watch": false, "jest --watchAll": false, "npm test; rm -rf x": false, "pytest | tee log": false,
		"git reset --hard": false, "terraform apply": false, "npm test && git clean -fdx": false, "vitest -w": false,
		"npm install": false, "docker compose up": false, "go through the tests": false, "test -f a && b": false,
	} {
		if isCheckCommand(command) != want {
			t.Errorf("%q: want %t", command, want)
		}
	}
	for command, want := range map[string]bool{"go test ./prune ./migrate ./destroy": false, "rm -rf dist": true,
		"terraform destroy": true, "php artisan migrate:fresh": true, "docker system prune -f": true} {
		if destroys().MatchString(command) != want {
			t.Errorf("%q destroys: want %t", command, want)
		}
	}
	task := &importedTask{}
	task.automated(phrase{text: "`npm test`\nnone\nmanual: look\nrm -rf dist\nnpm run dev\ngo vet ./..."})
	var runs []string
	for _, c := range task.claims {
		if c.command != "" {
			runs = append(runs, c.command)
		}
	}
	if !slices.Equal(runs, []string{"npm test", "go vet ./..."}) {
		t.Errorf("%q", runs)
	}
}
