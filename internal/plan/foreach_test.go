package plan

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

// listPlan has a task "a", a task "g" that is repeated, and a task "z" that waits for all of "g".
func listPlan(foreach, fields string) string {
	return `{"params":{"files":{"type":"list","default":["x"]}},"tasks":[{"id":"a","command":"x"},
	{"id":"g","blockedBy":"a","foreach":` + foreach + `,` + fields + `},{"id":"z","command":"x","blockedBy":["g"]}]}`
}

func mustParse(t testing.TB, text string) *Plan {
	t.Helper()
	p, ds := Parse("plan.json", []byte(text), Options{})
	if p == nil {
		t.Fatalf("%v", ds)
	}
	return p
}

// The tasks of the items stand in the place of the task, and its edges are theirs.
func TestForeach(t *testing.T) {
	t.Parallel()
	p := mustParse(t, listPlan(`{"items":[{"path":"src/a.go","n":1},{"path":"b.go","n":2}],"key":"${item.path}"}`,
		`"subject":"Migrate ${item.path}","prompt":"In ${run.id}: ${item | json}","files":["${item.path}"],
		"model":"m${item.n}","dir":"d${item.n}",
		"verify":["test -f ${item.path}",{"file":"out/${item.path}","contains":"${item.n}"}],
		"criteria":[{"text":"${item.path} is new.","check":"grep new ${item.path}"}],
		"rehearse":{"writes":[{"path":"${item.path}"}]}`))
	if got := IDs(p, []int{0, 1, 2, 3}); fmt.Sprint(got) != "[a g[src~a.go] g[b.go] z]" {
		t.Fatalf("the tasks are %v", got)
	}
	if p.Graph.Edges() != 4 || fmt.Sprint(p.Graph.Blockers(3)) != "[1 2]" || fmt.Sprint(p.Graph.Blockers(2)) != "[0]" {
		t.Errorf("z waits for %v", p.Graph.Blockers(3))
	}
	one := &p.Tasks[1]
	if one.Subject != "Migrate src/a.go" || one.Files[0].Path != "src/a.go" || p.Settings(1).Model != "m1" ||
		one.SubDir() != "d1" || one.Verify[0].Run != `test -f "${WAVEX_ITEM_path}"` || one.Verify[1].File != "out/src/a.go" ||
		one.Verify[1].Contains != "1" || one.Criteria[0].Text != "src/a.go is new." ||
		one.Env["WAVEX_ITEM_path"] != "src/a.go" ||
		string(one.Rehearse) != `{"writes":[{"path":"src/a.go"}]}` || one.Group != "g" {
		t.Errorf("%+v", one)
	}
	if c := p.Tasks[2].Criteria[0].Check; c.Environ()[0] != "WAVEX_ITEM_path=b.go" {
		t.Errorf("the check has %v", c.Environ())
	}
	if got, err := p.Tasks[2].Resolve("R", nil, nil); err != nil || got.Prompt != `In R: {"n":2,"path":"b.go"}` {
		t.Errorf("%s, %v", got.Prompt, err)
	}
	for _, id := range []string{"g[src/a.go]", "g[src~a.go]"} {
		if i, ok := p.Lookup(id); !ok || i != 1 {
			t.Errorf("%s is task %d", id, i)
		}
	}
	if g := p.Groups[0]; len(p.Groups) != 1 || !g.Known || fmt.Sprint(g.Tasks) != "[1 2]" || p.Lists() != nil {
		t.Errorf("%+v", p.Groups)
	}
}

// The command of a list is a task of its own. The items of its lines are added as those of an output.
func TestForeachOfCommand(t *testing.T) {
	t.Parallel()
	p := mustParse(t, listPlan(`{"command":"ls ${params.files | join(\" \")}"}`, `"command":"echo ${item}","dir":"d"`))
	if fmt.Sprint(IDs(p, []int{0, 1, 2})) != "[a z g.list]" || p.Groups[0].Known || p.Groups[0].Uses != "g.list" ||
		p.Tasks[2].Env == nil || p.Tasks[2].SubDir() != "d" || len(p.Graph.Blockers(2)) != 0 {
		t.Fatalf("%+v, %+v", p.Groups, p.Tasks)
	}
	items, err := p.Items(0, json.RawMessage(`["x","y"]`))
	must(t, err)
	q, err := p.WithItems("g", items)
	if err != nil || fmt.Sprint(IDs(q, q.Groups[0].Tasks)) != "[g[x] g[y]]" ||
		fmt.Sprint(q.Graph.Blockers(3)) != "[0 2]" ||
		fmt.Sprint(q.Graph.Blockers(1)) != "[0 2 3 4]" || p.Keys()[1] == q.Keys()[1] || p.Keys()[0] != q.Keys()[0] {
		t.Errorf("%v, %v", q, err)
	}
	if _, err := q.WithItems("g", items); err == nil {
		t.Error("a list is added twice")
	}
}

// A task can use all outputs of a group: inline if they are small, else as a file. Commands always get a file.
func TestOutputsOfGroup(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `{"tasks":[
	{"id":"z","subject":"z","verify":"x","prompt":"All: ${tasks.g.outputs}; ${tasks.g.outputs[*].n | json}"},
	{"id":"c","command":"cat ${tasks.g.outputs}"},
	{"id":"h","foreach":"${tasks.g.outputs[*].more[*]}","command":"x ${item}"},
	{"id":"g","foreach":["a","b"],"command":"x","output":{"type":"object"}}]}`)
	if got := fmt.Sprint(p.Graph.Blockers(0), p.Graph.Blockers(1)); got != "[2 3] [2 3]" {
		t.Errorf("the blockers are %s", got)
	}
	if tasks, isGroup := p.Outputs("g"); fmt.Sprint(tasks) != "[2 3]" || !isGroup {
		t.Errorf("the outputs of g are those of %v", tasks)
	}
	small, file := `[{"n":1,"more":["x"]},{"n":2,"more":["y","z"]}]`, ""
	keep := func(v json.RawMessage) (string, error) {
		file = string(v)
		return "/kept", nil
	}
	got, err := p.Tasks[0].Resolve("R", map[string]json.RawMessage{"g": json.RawMessage(small)}, keep)
	if err != nil || got.Prompt != "All: "+small+"; [1,2]" || file != "" {
		t.Errorf("%s, %v", got.Prompt, err)
	}
	large := `[{"n":"` + strings.Repeat("x", maxInline) + `"}]`
	got, err = p.Tasks[0].Resolve("R", map[string]json.RawMessage{"g": json.RawMessage(large)}, keep)
	if err != nil || !strings.HasPrefix(got.Prompt, "All: the file /kept; [") || file != large {
		t.Errorf("%.40s, %v", got.Prompt, err)
	}
	got, err = p.Tasks[1].Resolve("R", map[string]json.RawMessage{"g": json.RawMessage(small)}, keep)
	if err != nil || len(got.Env) != 1 || !strings.Contains(fmt.Sprint(got.Env), ":/kept]") {
		t.Errorf("%v, %v", got.Env, err)
	}
	items, err := p.Items(0, json.RawMessage(small))
	if err != nil || fmt.Sprintf("%s", items) != `["x" "y" "z"]` {
		t.Errorf("%s, %v", items, err)
	}
}

// Another item changes the keys of nothing but itself and its descendants, wherever it stands in the list.
func TestForeachKeys(t *testing.T) {
	t.Parallel()
	keys := func(items string) map[string]string {
		p, out := mustParse(t, listPlan(items, `"command":"echo ${item}"`)), map[string]string{}
		for i, key := range p.Keys() {
			out[p.Tasks[i].ID] = key
		}
		return out
	}
	before, after := keys(`["b","c"]`), keys(`["c","new","b"]`)
	for id, key := range after {
		if same := before[id] == key; same != (id != "z" && id != "g[new]") {
			t.Errorf("%s: its key is the same: %t", id, same)
		}
	}
}

// An empty list is complete: tasks that wait for it wait for its blockers. A list that is not known has no tasks yet.
func TestForeachOfNone(t *testing.T) {
	t.Parallel()
	p := mustParse(t, listPlan(`[]`, `"command":"echo ${item}"`))
	if len(p.Tasks) != 2 || fmt.Sprint(p.Graph.Blockers(1)) != "[0]" || !p.Groups[0].Known {
		t.Errorf("%d tasks, %+v", len(p.Tasks), p.Groups)
	}
	p = mustParse(t, strings.Replace(listPlan(`"${params.files}"`, `"command":"echo ${item}"`), `,"default":["x"]`, "", 1))
	if len(p.Tasks) != 2 || p.Groups[0].Known {
		t.Errorf("%d tasks, %+v", len(p.Tasks), p.Groups)
	}
	p = mustParse(t, `{"tasks":[{"id":"g","foreach":[],"command":"x"}]}`)
	if len(p.Tasks) != 0 || p.Graph.Len() != 0 {
		t.Errorf("%d tasks", len(p.Tasks))
	}
}

// Items are data: they stay one word of a command and one line of an id, or they are refused by their names. That holds
// for lists of the plan and for those that come with the run.
func TestHostileItems(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for item, want := range map[string]struct{ id, wrong string }{
		`"; rm -rf $HOME; "`:     {id: "g[---rm--rf--HOME----be648b2f]"},
		`$(touch x)`:             {id: "g[--touch-x--a075e3b1]"},
		"a\nb":                   {id: "g[a-b-7e18f737]"},
		"${tasks.a.output.x}":    {id: "g[--tasks.a.output.x--d6e49667]"},
		"../../etc/passwd":       {id: "g[..~..~etc~passwd]"},
		"..":                     {id: "g[..]"},
		"-rf":                    {id: "g[-rf]"},
		"--":                     {id: "g[--]"},
		".git/config":            {id: "g[.git~config]"},
		"x.lock":                 {id: "g[x.lock]"},
		"@{u}":                   {id: "g[@-u--9f1cb2f0]"},
		"a]b":                    {id: "g[a-b-21be9d41]"},
		"<script>alert(1)":       {id: "g[-script-alert-1--ba02bf22]"},
		"\x1b[2J\x07":            {id: "g[--2J--367c0b2c]"},
		"a~b":                    {id: "g[a-b-941528e5]"},
		"\u0430":                 {id: "g[--823c4eb3]"}, // a look-alike of a
		"a":                      {id: "g[a]"},
		"\u212a":                 {id: "g[--2bc4fb87]"},  // the sign of Kelvin, which is k but for case
		"e\u0301":                {id: "g[e--bf12767b]"}, // é in two characters
		"\u00e9":                 {id: "g[--4a99557e]"},
		"a\u202e":                {id: "g[a--359d1d0d]"}, // turns the text around
		"a\u200b":                {id: "g[a--7aa4469f]"}, // has no width
		strings.Repeat("y", 100): {id: "g[" + strings.Repeat("y", 51) + "-56846f2d]"},
		"a\x00b":                 {wrong: `item 1, "a\x00b": it is null, or has a NUL character`},
		long:                     {wrong: "it has 1048578 bytes; at most 65536 are allowed"},
		" ":                      {wrong: `item 1, " ": its key is empty`},
	} {
		raw, err := json.Marshal([]string{item})
		must(t, err)
		for _, p := range bothLists(t, string(raw), `"command":"echo ${item}","description":"On ${item}"`) {
			if want.wrong != "" {
				if p.plan != nil || !strings.Contains(p.wrong, want.wrong) {
					t.Errorf("%.30q: %s", item, p.wrong)
				}
				continue
			}
			if p.plan == nil {
				t.Errorf("%q: %s", item, p.wrong)
				continue
			}
			one := p.plan.Tasks[p.plan.Groups[0].Tasks[0]]
			if one.ID != want.id || len(one.ID) > maxID ||
				invalidIDReason(one.ID) != "" || one.Command != `echo "${WAVEX_ITEM}"` || one.Env["WAVEX_ITEM"] != item ||
				one.Description != "On "+item || one.Late != nil {
				t.Errorf("%q: %+v", item, one)
			}
		}
	}
}

// listedPlan is a plan with the tasks of a list, or nil and the mistake.
type listedPlan struct {
	plan  *Plan
	wrong string
}

// bothLists returns the plan of a group with the list in the plan, and with the same list from an output.
func bothLists(t *testing.T, items, fields string) (out [2]listedPlan) {
	t.Helper()
	p, ds := Parse("plan.json", []byte(listPlan(items, fields)), Options{})
	out[0] = listedPlan{p, fmt.Sprint(ds)}
	late := mustParse(t, tasks(`{"id":"a","command":"x","output":{"type":"array"}}`,
		`{"id":"g","foreach":"${tasks.a.output}",`+fields+`}`))
	list, err := late.Items(0, json.RawMessage(items))
	must(t, err)
	p, err = late.WithItems("g", list)
	out[1] = listedPlan{p, fmt.Sprint(err)}
	return out
}

// Look-alikes are items of their own. Only those that are equal, also but for case, have one key.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ one, other, wrong string }{
		{"a", "\u0430", ""}, {"k", "\u212a", ""}, {"e\u0301", "\u00e9", ""}, {"a", "a\u200b", ""}, {"a", " a", ""},
		{"a/b", "a~b", ""}, {"a/b", "a-b", ""}, {"a", "./a", ""}, {"\u00c9", "\u00e9", ""},
		{"s", "\u017f", ""}, // the long s
		{"a", "A", `item 2, "A": it has the key of item 1, "a"`},
		{"a", "a", `item 2, "a": it has the key of item 1, "a"`},
		{"src/A.go", "src/a.go", `item 2, "src/a.go": it has the key of item 1, "src/A.go"`},
	} {
		raw, err := json.Marshal([]string{c.one, c.other})
		must(t, err)
		for _, p := range bothLists(t, string(raw), `"command":"echo ${item}"`) {
			if (p.plan == nil) != (c.wrong != "") || !strings.Contains(p.wrong, c.wrong) {
				t.Errorf("%q and %q: %s", c.one, c.other, p.wrong)
			}
			if p.plan != nil && len(p.plan.Groups[0].Tasks) != 2 {
				t.Errorf("%q and %q: %v", c.one, c.other, p.plan.Groups)
			}
		}
	}
}

// A path with an item stays in the directory, and a field of one line stays one line: other items are refused by their
// names.
func TestItemsInPaths(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{`"files":["${item}"]`, `"files":[{"path":"${item}","action":"create"}]`,
		`"dir":"${item}"`, `"verify":[{"file":"${item}"}]`, `"criteria":[{"text":"x","check":{"file":"${item}"}}]`,
		`"model":"${item}"`, `"activeForm":"${item}"`} {
		isPath := !strings.Contains(fields, "model") && !strings.Contains(fields, "activeForm")
		for item, wrong := range map[string]bool{"..": isPath, "../x": isPath, "a/../../x": isPath, "/etc/passwd": isPath,
			"~root": isPath, `a\\b`: isPath, "C:x": isPath, "a\\nb": true, "-rf": false, "--": false, "...": false,
			"a b": false, "$(touch x)": false, "a/../b": false} {
			for _, p := range bothLists(t, `["`+item+`"]`, `"subject":"x",`+fields) {
				if (p.plan == nil) != wrong || wrong && !strings.Contains(p.wrong, `item 1, "`) {
					t.Errorf("%s with %s: %s", fields, item, p.wrong)
				}
			}
		}
	}
}

func TestForeachMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ foreach, fields, want string }{
		{`["a","b","a"]`, `"command":"x"`, `item 3, "a": it has the key of item 1, "a"`},
		{`["a","A"]`, `"command":"x"`, `item 2, "A": it has the key of item 1, "a"`},
		{`["a",null]`, `"command":"x"`, `item 2, "null": it is null`},
		{`["a",3]`, `"command":"echo ${item.path}"`, `item 1, "a": the reference ${item.path}: it has no value`},
		{`[{"n":1}]`, `"command":"echo ${item}"`, `the value is an object`},
		{`["a\nb"]`, `"subject":"Do ${item}","verify":"x"`, `put the rest into description (item 1, "a\nb")`},
		{`["../x"]`, `"command":"x","files":["d/${item}/../../../y"]`, `leaves the directory`},
		{`[1,2,3]`, `"command":"x"`, ``},
		{`{"items":[1,2,3],"maxItems":2}`, `"command":"x"`, `it has 3 items; at most 2 are allowed`},
		{`{"items":["a"],"key":"${item.id}"}`, `"command":"x"`, `the reference ${item.id}: it has no value`},
		{`"${params.gone}"`, `"command":"x"`, `the plan has no parameter "gone"`},
		{`"${params.files[0]}"`, `"command":"x"`, `${params.files[0]} is no list`},
		{`"${run.id}"`, `"command":"x"`, `a list comes from a parameter`},
		{`"${tasks.gone.output}"`, `"command":"x"`, `there is no task gone`},
		{`"${tasks.a.output}"`, `"command":"x"`, `task a has no output`},
		{`"${tasks.g.output}"`, `"command":"x","output":{}`, `g stands for the tasks of a list`},
		{`"${tasks.z.output}"`, `"command":"x"`, `cycle: g -> z -> g`},
		{`{"command":"ls ${item}"}`, `"command":"x"`, `there is no item here`},
		{`"${params.files | json}"`, `"command":"x"`, `without functions`},
		{`["a"]`, `"command":"x ${item | upper}"`, `the functions are`},
		{`{"glob":"*"}`, `"command":"x"`, `no directory`},
		{`{"items":["a"],"allowFailures":"10%"}`, `"command":"x"`, `was removed: write a number`},
		{`{"items":["a"],"budgetUSD":1}`, `"command":"x"`, `budgetUSD of a list was removed: give it to the task`},
		{`{"items":["a"],"allowFailures":-1}`, `"command":"x"`, `-1 is negative`},
		{`["a"]`, `"command":"x","exclusive":"${item.x}"`, `this field has no references`},
		{`{"items":[""],"key":"k"}`, `"command":"x","verify":{"file":"a","contains":"${item}"}`,
			`every file contains nothing; leave contains out to check that the file exists (item 1, "")`},
		{`{"items":[" "],"key":"k"}`, `"command":"x","verify":{"file":"a","contains":"${item}"}`, ``},
		{`{"items":[" "],"key":"k"}`, `"prompt":"${item}","verify":"x"`, `nothing says what the agent is to do (item 1`},
		{`{"items":[""],"key":"k"}`, `"subject":"S","prompt":"${item}","verify":"x"`, ``},
		{`{"items":[""],"key":"k"}`, `"command":"x","criteria":["${item}"]`, `a criterion says what must be true (item 1`},
	} {
		p, ds := Parse("plan.json", []byte(listPlan(c.foreach, c.fields)), Options{})
		text := fmt.Sprint(ds)
		if (p == nil) != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", c.foreach, text, c.want)
		}
	}
	const group = `{"id":"g","foreach":["a"],"command":"x",
		"output":{"type":"object","properties":{"n":{"type":"number"}}}}`
	for text, want := range map[string]string{
		`{"params":{"n":{"type":"string","default":""}},"tasks":[{"id":"a","command":"x",
			"verify":{"file":"a","contains":"${params.n}"}}]}`: `"${params.n}" is empty, and every file contains nothing`,
		tasks(`{"id":"a","command":"x","output":{"type":"object"}}`,
			`{"id":"h","command":"x","foreach":"${tasks.a.output}"}`): `the value is of type object; a list is needed`,
		tasks(group, `{"id":"g[a]","command":"y"}`):                                      `is that of an item`,
		tasks(group, `{"id":"b","command":"echo ${item.x}"}`):                            `there is no item here`,
		tasks(group, `{"id":"h","command":"${tasks.g.output}"}`):                         `stands for the tasks of a list`,
		tasks(group, `{"id":"h","command":"${tasks.g.outputs[*].m[*].x}","prompt":"x"}`): `both command and prompt`,
		tasks(group, `{"id":"h","command":"${tasks.g.outputs[*].n[*] | json}"}`):         `there is no [*] in a value`,
		tasks(group, `{"id":"h","command":"${tasks.g.outputs[*].n}"}`):                   `the value is a list`,
		tasks(group, `{"id":"h","command":"${tasks.h.outputs}","output":{}}`):            `task h has no list`,
		tasks(strings.Replace(group, "g", strings.Repeat("g", 90), 1)):                   `its items need room`,
	} {
		if p, ds := Parse("plan.json", []byte(text), Options{}); p != nil || !strings.Contains(fmt.Sprint(ds), want) {
			t.Errorf("%s: %v", text, ds)
		}
	}
	// Without foreach, ${item} belongs to the shell.
	p := mustParse(t, `{"params":{"a":{"type":"string"}},
		"tasks":[{"id":"g","command":"for item in a; do echo ${item}; done"}]}`)
	if p.Tasks[0].Command != "for item in a; do echo ${item}; done" {
		t.Errorf("%s", p.Tasks[0].Command)
	}
	if _, err := p.WithTasks(2, json.RawMessage(`{"id":"n","command":"x","foreach":["a"]}`)); err == nil {
		t.Error("a task that is added has a list")
	}
}

// A group may lose a number of items.
func TestAllowedFailures(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]int{``: 0, `,"allowFailures":0`: 0, `,"allowFailures":2`: 2} {
		p := mustParse(t, tasks(`{"id":"g","command":"x","foreach":{"items":[1,2,3,4,5]`+allow+`}}`))
		if got := p.Groups[0].AllowedFailures(); got != want {
			t.Errorf("%s: %d of 5 items may fail, want %d", allow, got, want)
		}
	}
	if got := (&Group{AllowFailures: "50%", Tasks: make([]int, 5)}).AllowedFailures(); got != 2 { // of an older run
		t.Errorf("a share of 5 items: %d may fail", got)
	}
}

// A glob finds files below the directory of the task, and a run keeps them.
func TestGlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range []string{"src/a.go", "src/deep/er/b.go", "src/c.txt", "src/.hidden/d.go", "src/.e.go", "top.go"} {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
	must(t, os.Symlink("/", filepath.Join(dir, "src", "out")))
	for pattern, want := range map[string]string{
		"src/*.go": "[src/a.go]", "src/**/*.go": "[src/a.go src/deep/er/b.go]",
		"**":     "[src/a.go src/c.txt src/deep/er/b.go top.go]",
		"src/*/": "[src/deep]", "**/": "[src src/deep src/deep/er]", "src/.*": "[src/.e.go]", "gone/*": "[]",
		"src/out/*": "[]",
		"*/[ab].go": "[src/a.go]", "top.go": "[top.go]",
		strings.Repeat("**/", 5000) + "*.go": "[src/a.go src/deep/er/b.go top.go]",
	} {
		if got, err := glob(dir, pattern); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", pattern, got, err, want)
		}
	}
	text := []byte(`{"defaults":{"dir":"src"},
	"tasks":[{"id":"g","foreach":{"glob":"deep/**/*.go"},"command":"cat ${item}"}]}`)
	p, ds := Parse("plan.json", text, Options{Dir: dir})
	if p == nil || fmt.Sprint(IDs(p, []int{0})) != "[g[deep~er~b.go]]" {
		t.Fatalf("%v", ds)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "src")))
	again, ds := Parse("plan.json", text, Options{Dir: dir, Params: RunParams(nil, p.Lists())})
	if again == nil || !slices.Equal(again.Keys(), p.Keys()) || len(ds) != 0 {
		t.Errorf("%v", ds)
	}
	for pattern, want := range map[string]string{"deep/**/*.go": "its folder and its spelling",
		"*.{go,txt}": "the braces, which have no meaning"} {
		changed := []byte(strings.Replace(string(text), "deep/**/*.go", pattern, 1))
		if p, ds = Parse("plan.json", changed, Options{Dir: dir}); p == nil || len(p.Tasks) != 0 || len(ds) != 1 ||
			ds[0].Code != CodeNoMatch || !strings.Contains(ds[0].Message, want) {
			t.Errorf("%v", ds)
		}
	}
}

// A name that is not UTF-8 would be another name as an item.
func TestGlobOfNamesInBytes(t *testing.T) {
	t.Parallel()
	items, err := pathItems([]string{"a", "\u00e9"})
	if err != nil || fmt.Sprintf("%s", items) != "[\"a\" \"\u00e9\"]" {
		t.Errorf("%s, %v", items, err)
	}
	if _, err := pathItems([]string{"a", "b\xe9"}); err == nil || !strings.Contains(err.Error(), `"b\xe9" is not UTF-8`) {
		t.Errorf("%v", err)
	}
}

// Lists wait for each other in a long chain. What waits for the last one waits for the task before the first.
func TestChainOfEmptyLists(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"tasks":[{"id":"a","command":"x"},{"id":"b","command":"x"}`)
	const n = 10_000
	for i := range n {
		before := `["a","b"]`
		if i > 0 {
			before = fmt.Sprintf(`["e%d"]`, i-1)
		}
		fmt.Fprintf(&b, `,{"id":"e%d","command":"x","foreach":[],"blockedBy":%s}`, i, before)
	}
	fmt.Fprintf(&b, `,{"id":"z","command":"x","blockedBy":["e%d","b"]}]}`, n-1)
	p := mustParse(t, b.String())
	if got := p.Graph.Blockers(2); len(p.Tasks) != 3 || fmt.Sprint(got) != "[0 1]" {
		t.Errorf("%d tasks, and the last one waits for %v", len(p.Tasks), got)
	}
}

// 10,000 items become tasks, each with its own edges. The log says how long that takes.
func TestManyItems(t *testing.T) {
	t.Parallel()
	items := make([]string, 10_000)
	for i := range items {
		items[i] = fmt.Sprintf("src/file-%d.go", i)
	}
	raw, err := json.Marshal(items)
	must(t, err)
	began := time.Now()
	p := mustParse(t, listPlan(`{"items":`+string(raw)+`,"maxItems":10000}`,
		`"subject":"Migrate ${item}","description":"The file ${item}.","files":["${item}"],"verify":"test -f ${item}"`))
	p.Keys()
	t.Logf("%d tasks in %s", len(p.Tasks), time.Since(began))
	if len(p.Tasks) != 10_002 || p.Graph.Edges() != 20_000 {
		t.Errorf("%d tasks, %d edges", len(p.Tasks), p.Graph.Edges())
	}
}
