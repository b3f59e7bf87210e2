package convert

// This file checks that a plan of wavex is never read as another tool's because of one word, and that no import loses a
// limit.

import (
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
)

// oneWord lists words of a plan with one that another tool or a hurry puts in its place; an added field if the first is
// "". The suggestion is that of the diagnostic, or "".
func oneWord() [][3]string {
	return [][3]string{
		{`"version"`, `"verison"`, "version"}, {`"budget"`, `"budgets"`, "budget"}, {`"budget"`, `"cost"`, "budget"},
		{`"budget"`, `"max_cost"`, "budget"}, {`"mustNot"`, `"must_not"`, "mustNot"}, {`"mustNot"`, `"mustnot"`, "mustNot"},
		{`"mustNot"`, `"forbidden"`, "mustNot"}, {`"criteria"`, `"acceptance_criteria"`, "criteria"},
		{`"criteria"`, `"tests"`, "criteria"}, {`"name"`, `"title"`, "name"}, {`"tasks"`, `"jobs"`, "tasks"},
		{`"tasks"`, `"steps"`, "tasks"}, {`"tasks"`, `"stories"`, "tasks"}, {`"tasks"`, `"userStories"`, "tasks"},
		{`"tasks"`, `"task"`, "tasks"}, {`{"usd":1}`, `5`, "{usd: 5}"}, {`{"usd":1}`, `"5"`, "{usd: 5}"},
		{`"usd"`, `"dollars"`, "usd"}, {"", `"phase":1`, ""}, {"", `"must_haves":["x"]`, ""}, {"", `"stories":[]`, ""},
		{"", `"completedSteps":[]`, ""},
		{`"subject"`, `"title"`, "subject"}, {`"subject"`, `"name"`, "subject"}, {`"subject"`, `"summary"`, "subject"},
		{`"verify"`, `"check"`, "verify"}, {`"verify"`, `"checks"`, "verify"}, {`"verify"`, `"tests"`, "verify"},
		{`"verify"`, `"verfiy"`, "verify"}, {`"verify"`, `"acceptanceCriteria"`, "verify"},
		{`"blockedBy"`, `"needs"`, "blockedBy"}, {`"blockedBy"`, `"blocked_by"`, "blockedBy"},
		{`"model"`, `"modle"`, "model"}, {`"budgetUSD"`, `"budget"`, "budgetUSD"}, {`"files"`, `"flies"`, "files"},
		{`"id":"b"`, `"id":"b","action":"x"`, ""}, {`"id":"b"`, `"id":"b","done":"x"`, ""},
		{`"id":"b"`, `"id":"b","passes":false`, ""}, {`"id":"b"`, `"id":"b","title":"x"`, "subject"},
	}
}

func TestOneWordMakesNoOtherPlan(t *testing.T) {
	t.Parallel()
	const list = `"tasks":[{"id":"b","subject":"Write b","verify":["test -f b"],"files":["b"],"blockedBy":[]`
	files := 0
	for _, whole := range []string{
		list + `}]}`, // no word but those of tasks is wavex's
		`"version":1,"name":"n","budget":{"usd":1},"mustNot":["Delete data"],"criteria":["works"],` + list +
			`,"model":"haiku","budgetUSD":1}]}`,
	} {
		for _, w := range oneWord() {
			text := "{" + w[1] + "," + whole
			if w[0] != "" {
				text = strings.Replace("{"+whole, w[0], w[1], 1)
			}
			for _, name := range []string{"p.json", "p.yaml", "p"} {
				if strings.HasPrefix("{"+whole, text) {
					continue // the plan has no such word
				}
				files++
				form := map[string]Form{"p.json": FormJSON, "p.yaml": FormYAML, "p": FormJSON}[name]
				out, got, ds := Import(name, []byte(text), plan.Options{})
				if out != nil || got != form || !slices.ContainsFunc(ds, func(d plan.Diagnostic) bool {
					return d.Severity == plan.SeverityError && (w[2] == "" && d.Code == plan.CodeUnknownField ||
						w[2] != "" && strings.Contains(strings.ReplaceAll(d.Message, `"`, ""), "did you mean "+w[2]+"?"))
				}) {
					t.Errorf("%s: taken for %s: %v\n%s", name, got, ds, text)
				}
			}
		}
	}
	if files < 60 {
		t.Errorf("only %d files", files)
	}
	block := "version: 1\ntasks:\n- id: 1\n  subject: x\n  description: |\n   <task id=\"1\">\n   </task>\n"
	if out, form, ds := Import("p", []byte(block), plan.Options{}); out == nil || form != FormYAML {
		t.Errorf("taken for %s: %v", form, ds)
	}
}

func TestImportsLoseNoLimit(t *testing.T) {
	t.Parallel()
	phase := func(head, attributes, body string) string {
		return "---\nphase: 1\n" + head + "---\n<task id=\"1\"" + attributes + ">\n<action>x</action>\n" + body + "\n</task>\n"
	}
	for _, text := range []string{ // money, or a must-not of a task
		`{"phase":1,"max_cost":5,"tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"maxBudget":{"x":5},"tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"tasks":[{"id":1,"title":"x","max_cost_usd":5}]}`,
		`{"phase":1,"tasks":[{"id":1,"title":"x","must_not":["y"]}]}`,
		`{"phase":1,"waves":[{"wave":1,"budget":3,"tasks":[{"id":1,"title":"x"}]}]}`,
		`{"stories":[{"id":1,"title":"x","budget":"$5"}]}`,
		`{"spec":"x","cost_limit":3,"steps":["a"]}`, `{"spec":"x","steps":[{"title":"a","limits":{"usd":1}}]}`,
		phase("budget: 5\n", "", ""), phase("limits:\n  usd: 5\n", "", ""), phase("", ` budget="5"`, ""),
		phase("", "", "<budget>5</budget>"), phase("", "", "<must_not>y</must_not>"),
		phase("", "", "<maxCost>5</maxCost>"), phase("", "", "<mustNot>y</mustNot>"),
		phase("", "", "") + "## Budget\n\n$5\n",
	} {
		out, form, ds := Import("p", []byte(text), plan.Options{})
		if out != nil || form == FormJSON || !slices.ContainsFunc(ds, func(d plan.Diagnostic) bool {
			return d.Severity == plan.SeverityError && d.Code == plan.CodeNotCarried && d.Line > 0
		}) {
			t.Errorf("a limit is lost: %s: %v\n%s", form, ds, text)
		}
	}
	for _, text := range []string{ // W must be in a check, a criterion or a must-not
		`{"phase":1,"verification":["W"],"tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"success_criteria":"W","tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"must_haves":{"truths":["x"],"artifacts":[{"path":"W"}]},"tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"must_haves":[{"text":"x","check":"W"}],"tasks":[{"id":1,"title":"x"}]}`,
		`{"phase":1,"must_not":["W"],"tasks":[{"id":1,"title":"x"}]}`, `{"spec":"x","steps":["a"],"prohibitions":["W"]}`,
		`{"phase":1,"tasks":[{"id":1,"title":"x","check":"W"}]}`, `{"phase":1,"tasks":[{"id":1,"title":"x","tests":["W"]}]}`,
		`{"phase":1,"tasks":[{"id":1,"title":"x","checks":[{"cmd":"a","run":"W"}]}]}`,
		`{"phase":1,"tasks":[{"id":1,"title":"x","checks":[{"file":"W","text":"it is"}]}]}`,
		`{"stories":[{"id":1,"title":"x","successCriteria":["W"]}]}`, `{"spec":"x","steps":[{"title":"a","check":"W"}]}`,
		phase("verification: W\n", "", ""), phase("checks:\n  - W\n", "", ""), phase("must_not:\n- W\n", "", ""),
		phase("checks:\n- run: W\n", "", ""), phase("must_not:\n- W in: any table\n", "", ""),
		phase("must_not:\n- Do not touch: W\n", "", ""), phase("verification: a: W\n", "", ""),
		phase("verification:\n- a: b: W\n", "", ""), phase("must_haves: [x, W]\n", "", ""),
		phase("must_haves:\n\n  truths:\n  - x # y\n  artifacts:\n  - path: W\n", "", ""),
		phase("", "", "<acceptanceCriteria>W</acceptanceCriteria>"),
		phase("", ` verify="W"`, ""), phase("", "", "<acceptance_criteria>W</acceptance_criteria>"),
		phase("", "", `<verify><check file="W">it is</check></verify>`),
		phase("", "", "") + "## Verification\n\n- [ ] W\n", phase("", "", "") + "## Must not\n\n- W\n",
	} {
		p, ds := parse("p", []byte(text), plan.Options{})
		if p == nil {
			t.Errorf("%v\n%s", ds, text)
			continue
		}
		found := func(list []plan.Condition) bool {
			return slices.ContainsFunc(list, func(c plan.Condition) bool {
				return strings.Contains(c.Text, "W") || c.Check != nil && strings.Contains(c.Check.Run, "W")
			})
		}
		in := found(p.Criteria) || found(p.MustNot) || found(p.Tasks[0].Criteria)
		for _, c := range p.Tasks[0].Verify {
			in = in || strings.Contains(c.Run, "W")
		}
		if !in {
			t.Errorf("a limit is lost: %v\n%s", ds, text)
		}
	}
}

// Only whole words make a name a limit, in any spelling.
func TestNamesOfLimits(t *testing.T) {
	t.Parallel()
	for kind, names := range map[limit][]string{
		limitsMoney: {"budget", "Budgets", "max_cost", "Max. Cost", "maxCostUSD", "USDLimit", "MAX-USD", "cost_cap",
			"maxSpend", "limits", "spending limit", "maxcost", "max_dollars"},
		forbids: {"must_not", "mustNots", "MUST NOTs", "mustnot", "mustNever", "do-not-touch", "Don'ts", "Never",
			"forbiddenPaths", "prohibitions"},
		checks: {"Acceptance Criteria", "acceptanceCriteria", "success_criteria", "healthChecks", "tests", "must_haves"},
		limitsNothing: {"status_details", "statusDate", "Previous decisions", "Various documents", "focus_date", "Do nothing",
			"cost_usd", "totalCostUSD", "usd", "dollars", "cost", "todoNotes", "capital costs", "paychecks", "token_budget",
			"estimatedCostLimit", "contextBudget", "Unforbidding", "never_mind"},
	} {
		for _, name := range names {
			if got := limitOf(name); got != kind {
				t.Errorf("%q is a limit of kind %d, want %d", name, got, kind)
			}
			if kind != limitsNothing {
				continue
			}
			for _, text := range []string{"phase: 1\ntasks:\n- {id: 1, title: x, " + name + ": 0}\n",
				"stories:\n- {id: 1, title: x, passes: true, " + name + ": 0}\n- {id: 2, title: y}\n",
				"<task id=\"1\">\n<action>x</action>\n</task>\n## " + name + "\n\n- y\n"} {
				p, ds := parse("p", []byte(text), plan.Options{})
				if p == nil || len(p.Criteria)+len(p.MustNot)+len(p.Tasks[0].Criteria) > 0 {
					t.Errorf("%v\n%s", ds, text)
				}
			}
		}
	}
}

// Limits in front matter and below headings are the conditions that the same limits in JSON are, and no others.
func TestLimitsOfPhasePlans(t *testing.T) {
	t.Parallel()
	const task = "<task id=\"1\">\n<action>x</action>\n</task>\n"
	doc, _ := parse("p.json", []byte(`{"phase":1,"tasks":[{"id":1,"title":"x","verify":[]}],`+
		`"must_haves":{"truths":["It is so: yes","b"],"artifacts":[{"path":"a.md","min_lines":30}]}}`), plan.Options{})
	if len(doc.Tasks[0].Metadata) > 0 {
		t.Errorf("an empty list of checks is in %v", doc.Tasks[0].Metadata)
	}
	list := func(conditions []plan.Condition) string {
		var texts []string
		for _, c := range conditions {
			if c.Check != nil {
				c.Text += " (" + c.Check.Run + ")"
			}
			texts = append(texts, c.Text)
		}
		return strings.Join(texts, "|")
	}
	for text, want := range map[string][2]string{
		"---\nmust_haves:\n  truths:\n  - \"It is so: yes\"\n\n  - b\n  artifacts:\n    - path: a.md\n      min_lines: 30\n" +
			"phase: 1\n---\n" + task: {list(doc.Criteria), ""},
		"---\nmust_not:\n- Delete data: any table\n- --force on main\n---\n" + task: {"",
			"Delete data: any table|--force on main"},
		task + "## Must not\n\n- a\n\n<!-- b -->\n---\n": {"", "a"},
		task + "## Never\n```\nrm a\n\nrm b\n```\n- c\n": {"", "``` rm a rm b ```|c"},
		task + "## Checks\n```bash\nnpm test\n```\n~~~sh x\ngo vet\n~~~\n---\n": {
			"npm test (npm test)|~~~sh x go vet ~~~", ""},
		task + "## Checks\n```\n```\n- a\n":                {"a", ""},
		task + "## Checks\n```bash\nnpm test\nnpm start\n": {"```bash npm test npm start", ""},
	} {
		for _, ends := range []string{"\n", "\r\n"} {
			p, ds := parse("p.md", []byte(strings.ReplaceAll(text, "\n", ends)), plan.Options{})
			if p == nil || list(p.Criteria) != want[0] || list(p.MustNot) != want[1] {
				t.Errorf("%v\n%s\n%+v", ds, text, p)
			}
		}
	}
}
