package plan

// This file compares the schema and the decoder: the same fields, and the same verdict wherever a
// schema can have one.

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"wavex/internal/jsonschema/jsonschematest"
)

func TestSchemaHasTheDecodersFields(t *testing.T) {
	t.Parallel()
	type object struct {
		Properties map[string]json.RawMessage
		Additional *bool `json:"additionalProperties"`
		AnyOf      []json.RawMessage
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	parse := func(raw json.RawMessage) (o object) {
		must(t, json.Unmarshal(raw, &o))
		return o
	}
	top := parse(Schema())
	d := newDecoder(Options{}, "")
	for name, c := range map[string]struct {
		schema object
		fields []string
	}{
		"plan":      {top, d.planType.names()},
		"budget":    {parse(top.Properties["budget"]), d.limitType.names()},
		"defaults":  {parse(top.Properties["defaults"]), d.defaultsType.names()},
		"policy":    {parse(top.Defs["policy"]), d.policyType.names()},
		"task":      {parse(top.Defs["task"]), d.taskType.names()},
		"step":      {parse(top.Defs["step"]), newObjectType("a step", stepFields(taskFields())...).names()},
		"estimate":  {parse(parse(top.Defs["task"]).Properties["estimate"]), d.estimateType.names()},
		"check":     {parse(top.Defs["checkObject"]), d.checkType.names()},
		"setup":     {parse(top.Defs["setup"]), d.setupType.names()},
		"file":      {parse(parse(top.Defs["file"]).AnyOf[1]), d.fileType.names()},
		"wave":      {parse(top.Defs["wave"]), d.waveType.names()},
		"foreach":   {parse(top.Defs["foreachObject"]), d.foreachType.names()},
		"param":     {parse(top.Defs["param"]), d.paramType.names()},
		"link":      {parse(top.Defs["link"]), d.linkType.names()},
		"condition": {parse(top.Defs["condition"]), d.conditionType.names()},
	} {
		var properties []string
		for p := range c.schema.Properties {
			properties = append(properties, p)
		}
		slices.Sort(properties)
		slices.Sort(c.fields)
		if !slices.Equal(properties, c.fields) {
			t.Errorf("%s: schema has %v, decoder has %v", name, properties, c.fields)
		}
		if c.schema.Additional == nil || *c.schema.Additional {
			t.Errorf("%s: the schema allows unknown fields", name)
		}
	}
}

// beyond returns plans with mistakes that no schema can detect: between tasks, in files, in numbers
// that only look alike, and repeated names, which a schema never sees.
func beyond() []string {
	return []string{CodeDuplicateID, CodeUnknownTask, CodeSelfEdge, CodeCycle, CodeMissingFile, CodeDuplicateField,
		CodeBadPattern, CodeBadSchema, CodeBadItem, CodeBadReference, CodeUnknownParam, CodeMissingParam,
		CodeWaveOrder, CodeTooDeep, CodeEncoding, CodeSyntax}
}

func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	s := jsonschematest.New(t, Schema())
	full, err := os.ReadFile("testdata/full.json")
	must(t, err)
	plans := []string{
		string(full), string(bigPlan(20)), tasks(ok), tasks(`{"id":1,"command":"x"}`),
		task(`"timeout":"1h30m","idleTimeout":0.5,"budgetUSD":"$2","reversibility":"1","files":["..a","a/b.c",".x"]`),
		`{"version":"1","budget":{"usd":0},"tasks":[` + ok + `]}`,
		`{"waves":[{"wave":1},{"wave":2,"title":"x","parallel":false}],"tasks":[` + ok + `]}`, task(`"wave":3`),
		whole(`"isolation":"auto","share":"copy:a","protect":"branch:main","setup":"x"`),
		whole(`"share":[],"protect":["a/*","branch:x y"]`),
		task(`"exclusive":["a","b"]`), task(`"exclusive":"a"`),
		tasks(`{"id":1,"subject":"x","verify":{"run":"x","once":true}}`),
		task(`"criteria":[{"text":"a","check":{"run":"x","once":false}}]`),
		task(`"output":{"type":"object","properties":{"a":{"type":"string"}}}`),
		whole(`"params":{"a":{"type":"string"},"_b1":{"type":"list","default":[1],"description":""}}`),
		task(`"foreach":["a",1,{"b":2}]`), task(`"foreach":{"command":"ls"}`),
		task(`"foreach":{"items":[],"key":"${item.id}","maxItems":3,"parallel":2}`),
		task(`"foreach":{"items":[],"allowFailures":0}`),
		whole(`"params":{"a":{"type":"list","default":[]}},"name":"x"`),
		tasks(`{"id":1,"foreach":[],"subject":"x","steps":[{"name":"a","command":"x"},{"subject":"y","verify":"z"}]}`),
		// Each has one mistake.
		tasks(`{"id":1,"foreach":[],"steps":[]}`), tasks(`{"id":1,"foreach":[],"steps":[{"name":"a"}]}`),
		tasks(`{"id":1,"steps":[{"command":"x"}]}`), tasks(`{"id":1,"foreach":[],"steps":[{"command":"x","wave":1}]}`),
		tasks(`{"id":1,"foreach":[],"steps":[{"command":"x"}],"command":"x"}`),
		tasks(`{"id":1,"foreach":[],"steps":[{"command":"x","name":"a b"}]}`), tasks(`{"id":1,"foreach":[],"steps":{}}`),
		tasks(`{"id":1,"foreach":[],"steps":[{"command":"x","prompt":"y"}]}`),
		task(`"foreach":"a"`), task(`"foreach":1`), task(`"foreach":{}`), task(`"foreach":{"items":[],"glob":"a"}`),
		task(`"foreach":{"command":""}`),
		task(`"foreach":{"command":"x","glob":"a"}`),
		task(`"foreach":{"items":{}}`), task(`"foreach":{"items":[],"maxItems":0}`),
		task(`"foreach":{"items":[],"parallel":0}`), task(`"foreach":{"items":[],"budgetUSD":1}`),
		task(`"foreach":{"items":[],"allowFailures":-1}`), task(`"foreach":{"items":[],"allowFailures":1.5}`),
		task(`"foreach":{"items":[],"allowFailures":"3"}`), task(`"foreach":{"items":[],"allowFailures":"10%"}`),
		task(`"foreach":{"items":[],"key":""}`), task(`"foreach":{"glob":"../a"}`), task(`"foreach":{"items":[],"max":1}`),
		whole(`"params":[]`), whole(`"params":{"a":{}}`), whole(`"params":{"a":{"type":"text"}}`), whole(`"params":{"a":1}`),
		whole(`"params":{"a-b":{"type":"string"}}`), whole(`"params":{"1":{"type":"string"}}`),
		task(`"output":[]`), task(`"output":true`), task(`"output":"x"`),
		tasks(`{"id":1,"subject":"x","verify":{"run":"x","once":0}}`),
		tasks(`{"id":1,"subject":"x","verify":{"once":true}}`),
		task(`"criteria":[{"text":"a","verify":{"file":"x","once":true}}]`),
		whole(`"mustNot":[{"text":"a","check":{"file":"x","once":true}}]`),
		whole(`"deliver":"push"`), whole(`"deliver":"patch x"`), whole(`"deliver":1`),
		whole(`"isolation":"both"`), whole(`"share":["/a"]`), whole(`"share":["copy:"]`), whole(`"share":["copy:../a"]`),
		whole(`"share":[1]`), whole(`"share":{}`),
		whole(`"setup":""`), whole(`"protect":["branch: "]`), whole(`"protect":["~/x"]`), whole(`"protect":""`),
		task(`"exclusive":[""]`), task(`"exclusive":1`),
		task(`"wave":0`), task(`"wave":"1"`), task(`"wave":100001`), `{"waves":[{}],"tasks":[` + ok + `]}`,
		`{"waves":[{"wave":1,"parallel":1}],"tasks":[` + ok + `]}`,
		`{"waves":[{"wave":1,"title":""}],"tasks":[` + ok + `]}`, `{"waves":{},"tasks":[` + ok + `]}`,
		`{}`, `[]`, tasks(), tasks(`"x"`), tasks(`{"subject":"x"}`), tasks(`{"id":1}`),
		tasks(`{"id":1,"command":"x","prompt":"y"}`),
		task(`"promt":1`), task(`"subject2":1`), `{"version":2,"tasks":[` + ok + `]}`, `{"parallel":0,"tasks":[` + ok + `]}`,
		`{"schedule":"x","tasks":[` + ok + `]}`, `{"budget":{"iterations":0},"tasks":[` + ok + `]}`,
		`{"budget":{"usd":"some"},"tasks":[` + ok + `]}`,
		task(`"timeout":"10 m"`), task(`"timeout":0`), task(`"timeout":-1`), task(`"maxRetries":-1`),
		task(`"maxRetries":1.5`), task(`"maxTurns":0`),
		task(`"budgetUSD":0`), task(`"permissionMode":"x"`), task(`"reversibility":"x"`), task(`"model":""`),
		task(`"model":null`), task(`"activeForm":"a\nb"`),
		task(`"files":["../x"]`), task(`"files":["/x"]`), task(`"files":["a\\b"]`), task(`"files":[{"action":"read"}]`),
		task(`"files":[{"path":"x","action":"y"}]`), task(`"files":"x"`),
		task(`"mcp":"a","mcpConfig":"b"`), task(`"settingSources":"x"`), task(`"settingSources":["x"]`), task(`"dir":"../x"`),
		task(`"metadata":[]`),
		task(`"criteria":[{}]`), task(`"criteria":[{"text":"a","verify":"b","check":"c"}]`),
		task(`"criteria":[{"text":"a","verification":"b"}]`), task(`"criteria":"a"`),
		task(`"criteria":[{"text":"a","check":{}}]`), task(`"criteria":[{"text":"a","check":{"run":"x","file":"y"}}]`),
		task(`"criteria":[{"text":"a","check":{"contains":"x"}}]`),
		task(`"criteria":[{"text":"a","check":{"file":"x","contains":"a","matches":"b"}}]`),
		task(`"criteria":[{"text":"a","check":{"file":"x","timeout":1}}]`),
		task(`"criteria":[{"text":"a","check":{"run":"x","timeout":"1"}}]`), task(`"blockedBy":{}`),
		task(`"blockedBy":[true]`), task(`"estimate":{"seconds":-1}`),
		tasks(`{"id":"a/b","subject":"x"}`), tasks(`{"id":".a","subject":"x"}`), tasks(`{"id":"","subject":"x"}`),
		tasks(`{"id":"a.","subject":"x"}`), tasks(`{"id":1.5,"subject":"x"}`), tasks(`{"id":"a ","subject":"x"}`),
		tasks(`{"id":"` + strings.Repeat("x", 101) + `","subject":"x"}`), tasks(`{"id":1,"subject":" "}`),
	}
	for _, text := range plans {
		p, ds := Parse("plan.json", []byte(text), Options{})
		for _, d := range ds {
			if d.Severity == SeverityError && slices.Contains(beyond(), d.Code) {
				t.Errorf("%s: not for a schema: %s", text, d)
			}
		}
		if err := s.Validate([]byte(text)); (err == nil) != (p != nil) {
			t.Errorf("decoder: %v\nschema: %v\nplan: %s", ds, err, text)
		}
	}
}

// A schema may accept plans that the decoder refuses; it must never refuse a valid plan.
func TestSchemaAllowsForeignFields(t *testing.T) {
	t.Parallel()
	s := jsonschematest.New(t, Schema())
	for code, text := range map[string]string{
		CodeDuplicateID: tasks(ok, ok),
		CodeUnknownTask: task(`"blockedBy":["b"]`),
		CodeSelfEdge:    task(`"blockedBy":["a"]`),
		CodeBadPattern:  task(`"criteria":[{"text":"a","check":{"file":"a","matches":"("}}]`),
		CodeWaveOrder:   tasks(ok, `{"id":"b","subject":"x","verify":"x","wave":1,"blockedBy":"a"}`),
		CodeMissingFile: task(`"prompt":"@x"`),
		CodeBadID:       tasks(`{"id":"con","subject":"x","verify":"x"}`),
	} {
		_, ds := Parse("plan.json", []byte(text), Options{})
		if len(ds) != 1 || ds[0].Code != code {
			t.Errorf("%s: got %v", code, ds)
		}
		if err := s.Validate([]byte(text)); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}
