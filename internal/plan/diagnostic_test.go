package plan

// This file has a small wrong plan for each kind of mistake, and its diagnostics.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ok is a task that gives no diagnostic.
const ok = `{"id":"a","subject":"A","verify":"true"}`

// tasks wraps tasks into a plan, on line 1 from column 11.
func tasks(list ...string) string { return `{"tasks":[` + strings.Join(list, ",") + `]}` }

// task returns a valid task with the given fields added.
func task(fields string) string {
	return tasks(`{"id":"a","subject":"A","verify":"true",` + fields + `}`)
}

// whole returns a valid plan with the given fields added.
func whole(fields string) string {
	return `{` + fields + `,"tasks":[{"id":"a","subject":"A","verify":"true"}]}`
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, c := range []struct {
		name string
		plan string
		want []string // "line:column severity code path: part of the message"
	}{
		{"good", tasks(ok), nil},
		{"isolation", whole(`"isolation":"own","share":["copy:/a","../b"],"protect":["[a","branch:[","branch:"],"setup":" "`),
			[]string{
				`bad-value isolation: "own" is not allowed here; use "auto", "shared" or "worktree"`,
				`bad-path share[0]: "/a" is absolute`, `bad-path share[1]: "../b" leaves the directory`,
				`bad-pattern protect[0]: "[a" is no pattern`, `bad-pattern protect[1]: "[" is no pattern`,
				`bad-value protect[2]: must not be empty`, `bad-value setup: must not be empty`}},
		{"protected patterns", whole(`"protect":["**/*.pem","a/**","*.{pem,key}","{{a}}","[{]a,b}","a**","branch:**","**",` +
			`"a/**/b","*.ts{,x}"]`),
			[]string{`bad-pattern protect[0]: "**/*.pem": ** has a meaning at the end only; name a folder`,
				`bad-pattern protect[2]: braces have no meaning in a pattern`,
				`bad-pattern protect[8]: ** has a meaning`, `bad-pattern protect[9]: braces have no meaning`}},
		{"deliver", whole(`"deliver":"patch x"`), []string{
			`bad-value deliver: "patch x" is not allowed here; use "auto", "branch", "ff", "push" or "pr"`}},
		{"policy", task(`"policy":{"edits":"all","deny":["git push","","Bash(x","*"],"repeat":-1,` +
			`"ask":[""],"askTimeout":"x","asks":1}`), []string{
			`bad-value tasks[0].policy.edits: "all" is not allowed here; use "worktree", "files" or "off"`,
			`bad-value tasks[0].policy.deny[1]: "" is no pattern of calls: it names no command and no tool`,
			`bad-value tasks[0].policy.deny[2]: "Bash(x" is no pattern of calls: it lacks the closing parenthesis`,
			`bad-value tasks[0].policy.deny[3]: "*" is no pattern of calls: it matches every command`,
			`bad-number tasks[0].policy.repeat: -1 is negative`,
			`bad-value tasks[0].policy.ask[0]: "" is no pattern of calls: it names no command and no tool`,
			`bad-duration tasks[0].policy.askTimeout: "x" is not a duration`,
			`unknown-field tasks[0].policy.asks: unknown field "asks" in policy`}},
		{"policy denies a check", "{\"defaults\":{\"policy\":{\"deny\":[\"git push\",\n \"curl\"]}},\"tasks\":[\n" +
			`{"id":"a","subject":"A","verify":["true","cd x && curl http://x/"]},` +
			`{"id":"b","subject":"B","verify":"curl y"},` +
			`{"id":"c","subject":"C","verify":"git push -n","policy":{"deny":"curl"}},` + "\n" +
			`{"id":"d","subject":"D","verify":"make","policy":{"deny":"make"}}]}`, []string{
			`2:2 error conflict defaults.policy.deny[1]: "curl" denies the check "cd x && curl http://x/" of task "a"`,
			`4:58 error conflict tasks[3].policy.deny: "make" denies the check "make" of task "d"; change one`}},
		{"bom", "\ufeff" + tasks(ok), nil},
		{"crlf", "{\r\n\"tasks\":\r\n[" + ok + "],\r\n\"x\":1}",
			[]string{`4:1 error unknown-field x: unknown field "x" in the plan`}},
		{"empty file", " \n", []string{"1:1 error empty-plan : the file is empty"}},
		{"no tasks", `{}`, []string{"1:1 error empty-plan : no tasks"}},
		{"zero tasks", tasks(), []string{"1:1 error empty-plan : no tasks"}},
		{"not an object", `[1]`, []string{"1:1 error wrong-type : a plan is an object with a list \"tasks\""}},
		{"null", `null`, []string{"1:1 error wrong-type : a plan is an object with a list \"tasks\""}},
		{"cut off", `{"tasks":[`, []string{"1:11 error syntax : ends in the middle"}},
		{"comment", "{\n  // hello\n  \"tasks\":[]}", []string{"2:3 error syntax : JSON has no comments"}},
		{"hash comment", "{\n  # hello\n  \"tasks\":[]}", []string{"2:3 error syntax : JSON has no comments"}},
		{"comment behind", tasks(ok) + "// x", []string{fmt.Sprintf("1:%d error syntax : JSON has no comments",
			len(tasks(ok))+1)}},
		{"trailing comma", `{"tasks":[` + ok + `,]}`, []string{"1:52 error syntax : a comma before the closing bracket"}},
		{"single quotes", `{'tasks':[]}`, []string{"1:2 error syntax : double quotes"}},
		{"two plans", tasks(ok) + "\n{}", []string{"2:1 error syntax : something follows the plan"}},
		{"bad token", `{"tasks":nope}`, []string{`1:10 error syntax : double quotes: "nope"`}},
		{"literal cut", `{"tasks":tru`, []string{`1:10 error syntax : double quotes: "tru"`}},
		{"nul", "{\"tasks\":\x00}", []string{"1:10 error encoding : NUL"}},
		{"nul escaped", task(`"prompt":"a\u0000b"`), []string{"1:60 error encoding tasks[0].prompt: NUL"}},
		{"not utf-8", "{\"name\":\"\xff\"}", []string{"error encoding : not valid UTF-8"}},
		{"utf-16", "\xff\xfe{\x00}\x00", []string{"1:1 error encoding : save the file as UTF-8"}},
		{"no comma", "{\"name\":\"x\"\n\"tasks\":[]}", []string{"2:1 error syntax : expecting ',' or '}'"}},
		{"no quotes", "{name:1}", []string{`1:2 error syntax : double quotes: "name"`}},
		{"no colon", `{"name" 1}`, []string{"1:9 error syntax : expecting ':'"}},
		{"open string", "{\"name\":\"x\n\"}", []string{"1:11 error syntax : invalid character '\\n'"}},
		{"bad escape", `{"name":"a\q"}`, []string{"1:11 error syntax : invalid escape sequence"}},
		{"half a surrogate", `{"name":"\ud800"}`, []string{"1:10 error"}},
		{"bad number", `{"parallel":02}`, []string{"bad-number parallel: 0 is too small", "1:14 error syntax"}},
		{"mismatch", `{"tasks":[}`, []string{"1:11 error syntax"}},
		{"deep", `{"rehearse":` + deep + `}`, []string{"1:212 error too-deep : nested more than 200"}},
		{"unknown field", task(`"promt":"x"`), []string{`1:51 error unknown-field tasks[0].promt: did you mean "prompt"?`}},
		{"unknown field by case", task(`"BLOCKEDBY":[]`),
			[]string{`error unknown-field tasks[0].BLOCKEDBY: did you mean "blockedBy"?`}},
		{"odd field", task(`"":1,"a b":2`), []string{`tasks[0][""]: unknown field ""`,
			`tasks[0]["a b"]: unknown field "a b"`}},
		{"twice", task(`"subject":"B"`), []string{`1:51 error duplicate-field tasks[0].subject: field "subject" is given twice`}},
		{"wrong types", task(`"command":1,"files":true,"criteria":"x","aspects":{},"estimate":[],"metadata":3`), []string{
			"1:61 error wrong-type tasks[0].command: expected a string, found a number; put it in quotes",
			"wrong-type tasks[0].files: expected a list of files, found true or false",
			"wrong-type tasks[0].criteria: expected a list of criteria, found a string",
			"wrong-type tasks[0].aspects: expected a list of strings, found an object",
			"wrong-type tasks[0].estimate: expected an object, found a list",
			"wrong-type tasks[0].metadata: expected an object, found a number",
		}},
		{"null", task(`"model":null`), []string{"wrong-type tasks[0].model: found null; leave the field out"}},
		{"task is a string", tasks(`"x"`), []string{"1:11 error wrong-type tasks[0]: expected an object, found a string"}},
		{"version", `{"version":2,"tasks":[` + ok + `]}`,
			[]string{"1:12 error unsupported-version version: reads plans of version 1"}},
		{"no id", tasks(`{"subject":"x","verify":"true"}`),
			[]string{`1:11 error missing-field tasks[0]: needs an id, like "T-001"`}},
		{"no work", tasks(`{"id":1,"description":"x. Verify: true"}`),
			[]string{"1:11 error no-work tasks[0]: neither subject nor prompt nor command"}},
		{"command and prompt", tasks(`{"id":1,"command":"x","prompt":"y","verify":"true"}`),
			[]string{"conflict tasks[0]: both command and prompt"}},
		{"two lines", task(`"activeForm":"a\nb"`), []string{"bad-value tasks[0].activeForm: must be a single line"}},
		{"empty words", tasks(`{"id":1,"subject":" ","model":"","verify":[""]}`), []string{
			"bad-value tasks[0].subject: must not be empty", "bad-value tasks[0].model: must not be empty",
			"bad-value tasks[0].verify[0]: must not be empty"}},
		{"durations", task(`"timeout":"10 minutes","idleTimeout":-1,"verify2":0`), []string{
			`bad-duration tasks[0].timeout: "10 minutes" is not a duration; write it like 90s, 10m`,
			"bad-duration tasks[0].idleTimeout: -1 is negative", "unknown-field"}},
		{"zero duration", task(`"timeout":0,"idleTimeout":1e300`), []string{"bad-duration tasks[0].timeout: must be positive",
			"bad-duration tasks[0].idleTimeout: out of range"}},
		{"numbers", task(`"maxRetries":-1,"maxTurns":0,"budgetUSD":0,"estimate":{"seconds":-2,"usd":1e99}`), []string{
			"bad-number tasks[0].maxRetries: -1 is negative", "bad-number tasks[0].maxTurns: at least 1",
			"bad-number tasks[0].budgetUSD: more than 0", "bad-number tasks[0].estimate.seconds: -2 is negative",
			"bad-number tasks[0].estimate.usd: too large"}},
		{"fractions", `{"parallel":1.5,"budget":{"iterations":2.5,"usd":"cheap","wallClock":"x"},"tasks":[` + ok +
			`]}`, []string{
			"bad-number parallel: not a whole number", "bad-number budget.iterations: not a whole number",
			`bad-number budget.usd: "cheap" is not an amount`, "bad-duration budget.wallClock: not a duration"}},
		{"iterations", `{"budget":{"iterations":"many"},"tasks":[` + ok + `]}`,
			[]string{`wrong-type budget.iterations: expected a number or "unlimited"`}},
		{"enums", `{"schedule":"fast","defaults":{"permissionMode":"yolo","settingSources":"user,all"},"criteria":[{"text":"x","verification":"hope"}],"tasks":[` +
			`{"id":"a","subject":"A","verify":"true","reversibility":"3","files":[{"path":"a","action":"burn"}]}]}`, []string{
			`bad-value schedule: use "waves" or "eager"`, "bad-value defaults.permissionMode",
			"bad-value defaults.settingSources",
			`bad-value criteria[0].verification: use "execution output"`, "bad-value tasks[0].reversibility",
			`bad-value tasks[0].files[0].action: use "create"`}},
		{"ids", tasks(`{"id":"a/b","subject":"A","verify":"x"}`, `{"id":".x","subject":"A","verify":"x"}`,
			`{"id":"aux.txt","subject":"A","verify":"x"}`,
			`{"id":"`+strings.Repeat("x", 101)+`","subject":"A","verify":"x"}`, `{"id":"","subject":"A","verify":"x"}`,
			`{"id":1.5,"subject":"A","verify":"x"}`,
			`{"id":"x ","subject":"A","verify":"x"}`, `{"id":"a\tb","subject":"A","verify":"x"}`,
			`{"id":"COM1","subject":"A","verify":"x"}`, `{"id":true,"subject":"A","verify":"x"}`), []string{
			"1:17 error bad-id tasks[0].id: contains '/'", `bad-id tasks[1].id: begins with "."`,
			"bad-id tasks[2].id: reserved name on Windows",
			"bad-id tasks[3].id: longer than 100 bytes", "bad-id tasks[4].id: is empty", "bad-id tasks[5].id: 1.5 is no task id",
			"bad-id tasks[6].id: ends in", `bad-id tasks[7].id: contains '\t'`, "bad-id tasks[8].id: reserved",
			"wrong-type tasks[9].id: expected a task id"}},
		{"ids that act", tasks(`{"id":"a\u009b2Jb","command":"x"}`, `{"id":"a\u202eb","command":"x"}`,
			`{"id":"a\u200db\u200c","command":"x"}`), []string{`bad-id tasks[0].id: contains '\u009b'`,
			`bad-id tasks[1].id: contains '\u202e'`}},
		{"same id", tasks(ok, ok), []string{`1:58 error duplicate-id tasks[1]: duplicate task id "a", first used in line 1`}},
		{"same number", tasks(`{"id":"T-001","subject":"A","verify":"x"}`, `{"id":1,"subject":"A","verify":"x"}`), []string{
			`duplicate-id tasks[1]: "1" and "T-001" (line 1) are the same number`}},
		{"same but for case", tasks(`{"id":"Ab","subject":"A","verify":"x"}`, `{"id":"aB","subject":"A","verify":"x"}`),
			[]string{"duplicate-id tasks[1]: by case alone"}},
		{"unknown task", tasks(`{"id":"T-003","subject":"A","verify":"x"}`,
			`{"id":4,"subject":"A","verify":"x","blockedBy":["T-3","T-03x",99999999]}`), []string{
			`1:107 error unknown-task tasks[1].blockedBy[1]: unknown task "T-03x" in blockedBy; did you mean "T-003"?`,
			`unknown-task tasks[1].blockedBy[2]: unknown task "99999999" in blockedBy; add that task`}},
		{"unknown by case", tasks(`{"id":"build","subject":"A","verify":"x"}`,
			`{"id":"test","subject":"A","verify":"x","depends_on":"Build"}`), []string{
			`unknown-task tasks[1].depends_on: unknown task "Build" in depends_on; did you mean "build"?`}},
		{"unknown before its likes", tasks(
			`{"id":"b","subject":"A","verify":"x","blockedBy":["t-1x","B","Bc",3],"depends":"b"}`,
			ok, `{"id":"bc","subject":"A","verify":"x"}`, `{"id":"T-1X","subject":"A","verify":"x"}`,
			`{"id":"T-03","subject":"A","verify":"x","blockedBy":["a","T-3","bc","bc","no"]}`), []string{
			`1:61 error unknown-task tasks[0].blockedBy[0]: unknown task "t-1x" in blockedBy; did you mean "T-1X"?`,
			`unknown-task tasks[0].blockedBy[1]: unknown task "B" in blockedBy; did you mean "b"?`,
			`unknown-task tasks[0].blockedBy[2]: unknown task "Bc" in blockedBy; did you mean "bc"?`,
			"mixed-aliases", `self-edge tasks[0].depends: "b" is blocked by itself`,
			`self-edge tasks[4].blockedBy[1]: "T-03" is blocked by itself`,
			`duplicate-blocker tasks[4].blockedBy[3]: "bc" is already among`, `unknown-task tasks[4].blockedBy[4]`}},
		{"nothing near", tasks(`{"id":"a","subject":"A","verify":"true","blockedBy":["5"]}`),
			[]string{`unknown task "5" in blockedBy; add that task, or remove the entry`}},
		{"blockers of a wrong type", task(`"blockedBy":[[]],"depends":{}`), []string{
			"wrong-type tasks[0].blockedBy[0]: expected a task id", "wrong-type tasks[0].depends: expected a list of task ids",
			"mixed-aliases"}},
		{"self", task(`"blockedBy":["a"]`), []string{`1:64 error self-edge tasks[0].blockedBy[0]: "a" is blocked by itself`}},
		{"blocker twice", tasks(ok, `{"id":"b","subject":"B","verify":"x","blockedBy":["a","a"]}`),
			[]string{"1:106 warning duplicate-blocker tasks[1].blockedBy[1]: once is enough"}},
		{"two names", tasks(ok, `{"id":"b","subject":"B","verify":"x","blockedBy":["a"],"depends":[]}`),
			[]string{"warning mixed-aliases tasks[1]: more than one name"}},
		{"two cycles", "{\"tasks\":[\n" + strings.Join([]string{
			`{"id":"T-001","subject":"A","verify":"x","blockedBy":["T-002"]}`,
			`{"id":"T-002","subject":"A","verify":"x","blockedBy":["T-001"]}`,
			`{"id":"c","subject":"A","verify":"x","blockedBy":["d","T-001"]}`,
			`{"id":"d","subject":"A","verify":"x","blockedBy":["e"]}`,
			`{"id":"e","subject":"A","verify":"x","blockedBy":["c"]}`}, ",\n") + "]}", []string{
			"2:1 error cycle tasks[0]: cycle: T-001 -> T-002 -> T-001; each must be done before the next",
			"4:1 error cycle tasks[2]: cycle: c -> e -> d -> c;"}},
		{"paths", task(`"dir":"../x","files":["/etc/passwd","a/../../b",{"path":"C:\\x"},"c:/x"],"criteria":[{"text":"t","check":{"file":"~/x"}}]`), []string{
			"bad-path tasks[0].dir: leaves the directory", `bad-path tasks[0].files[0]: "/etc/passwd" is absolute`,
			"bad-path tasks[0].files[1]: leaves",
			"bad-path tasks[0].files[2].path: backslash", "bad-path tasks[0].files[3]: absolute",
			"bad-path tasks[0].criteria[0].check.file: absolute"}},
		{"file without path", task(`"files":[{"action":"read"},3]`), []string{"missing-field tasks[0].files[0]: needs path",
			"wrong-type tasks[0].files[1]"}},
		{"checks", tasks(`{"id":1,"subject":"A","verify":[{"run":"x","contains":"y"},{"run":"x","file":"y"},{"file":"x","contains":"a","matches":"b"},{"contains":"x"},` +
			`{"file":"x","timeout":"1m"},{},{"file":"x","matches":"("},{"file":"x","contains":""},7]}`), []string{
			"conflict tasks[0].verify[0]: a command or a file", "conflict tasks[0].verify[1]: a command or a file",
			"conflict tasks[0].verify[2]: exclude each other",
			"missing-field tasks[0].verify[3]: needs run or file", "conflict tasks[0].verify[4]: timeout belongs to run",
			"missing-field tasks[0].verify[5]",
			"bad-pattern tasks[0].verify[6].matches: missing closing )",
			"bad-value tasks[0].verify[7].contains: must not be empty",
			"wrong-type tasks[0].verify[8]: expected a command or a check object"}},
		{"criteria", `{"mustNot":[{"verify":"x"},{"text":"x","verify":"a","check":"b"},4],"tasks":[` + ok + `]}`, []string{
			"missing-field mustNot[0]: needs text", "conflict mustNot[1].check: the same field",
			"wrong-type mustNot[2]: a string or an object"}},
		{"once of a criterion", task(`"criteria":[{"text":"a","check":{"run":"x","once":true}}]`),
			[]string{"conflict tasks[0].criteria[0].check: belongs to the checks of a task's verify"}},
		{"mcp twice", task(`"mcp":"inherit","mcpConfig":"x.json"`), []string{"conflict tasks[0].mcpConfig: the same field"}},
		{"prompt file", tasks(`{"id":1,"prompt":"@no.md","verify":"x"}`),
			[]string{`1:28 error missing-file tasks[0].prompt: "no.md": the plan has no directory`}},
		{"no check", tasks(`{"id":1,"subject":"A"}`, `{"id":2,"subject":"A","verify":[]}`, `{"id":3,"command":"make"}`),
			[]string{
				`1:11 warning no-check tasks[0]: task "1" has no check`, "warning no-check tasks[1]"}},
		{"files of one wave", tasks(`{"id":1,"subject":"A","verify":"x","files":["f.go","g.go"]}`,
			`{"id":2,"subject":"A","verify":"x","files":["./f.go",{"path":"r","action":"read"}]}`,
			`{"id":3,"subject":"A","verify":"x","blockedBy":1,"files":["f.go"]}`,
			`{"id":4,"subject":"A","verify":"x","files":["f.go",{"path":"r","action":"read"}]}`), []string{
			`warning file-overlap tasks[1].files: tasks 1, 2 and 4 of wave 1 declare "f.go" and will run one after the other`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ds := Parse("plan.json", []byte(c.plan), Options{})
			if (p == nil) != HasErrors(ds) {
				t.Errorf("plan is nil: %v, diagnostics: %v", p == nil, ds)
			}
			if len(ds) != len(c.want) {
				t.Errorf("%d diagnostics, want %d", len(ds), len(c.want))
			}
			for i, d := range ds {
				got := fmt.Sprintf("%d:%d %s %s %s: %s", d.Line, d.Column, d.Severity, d.Code, d.Path, d.Message)
				if i >= len(c.want) {
					t.Errorf("unexpected %s", got)
					continue
				}
				head, part, _ := strings.Cut(c.want[i], ": ")
				if !strings.Contains(got, head) || !strings.Contains(d.Message, part) {
					t.Errorf("got  %s\nwant %s", got, c.want[i])
				}
			}
		})
	}
}

func TestDiagnosticString(t *testing.T) {
	t.Parallel()
	_, ds := Parse("plan.json", []byte(tasks(`{"id":"T-003","subject":"A","verify":"x"}`,
		`{"id":4,"subject":"A","verify":"x","blockedBy":["T-03x"]}`)), Options{})
	const want = `plan.json:1:101: error: unknown task "T-03x" in blockedBy; did you mean "T-003"? [unknown-task]`
	if len(ds) != 1 || ds[0].String() != want {
		t.Errorf("got  %v\nwant %s", ds, want)
	}
	_, ds = Parse("plan.json", []byte(`{"params":{"a":{"type":"string"}},"tasks":[{"id":1,"command":"x",
		"description":"${params.a | join(\"\u001b[2J\n::error title=forged::\u0007\u202e\")}"}]}`), Options{})
	if len(ds) != 1 || strings.ContainsAny(ds[0].String(), "\x1b\a\n\u202e") {
		t.Errorf("%q", ds)
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 3000 {
		list = append(list, fmt.Sprintf(`{"id":%d,"subject":"A","blockedBy":["x%d"]}`, i, i))
	}
	p, ds := Parse("plan.json", []byte(tasks(list...)), Options{})
	if p != nil || len(ds) != 2002 {
		t.Fatalf("%d diagnostics", len(ds))
	}
	if last := ds[2000]; last.Code != CodeTooMany || !strings.Contains(last.Message, "the first 1000 errors") {
		t.Errorf("got %v", last)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var ds []Diagnostic
	for i := range 5 {
		ds = append(ds, Diagnostic{Severity: SeverityWarning, Code: CodeNoCheck, Message: fmt.Sprint("w", i)})
	}
	ds = append(ds, Diagnostic{Severity: SeverityError, Code: CodeCycle, Message: "e"},
		Diagnostic{Severity: SeverityWarning, Code: CodeGuessed, Message: "g"})
	want := []string{"error: e [cycle]", "warning: w0 [no-check]", "warning: w1 [no-check]", "warning: w2 [no-check]",
		"  and 2 more [no-check], 5 in all; wavex check --all shows each", "warning: g [guessed]"}
	if got := Lines(ds); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
