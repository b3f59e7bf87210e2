package plan

// This file checks docs/plan.md: its examples are valid plans, and it names every field and every
// code.

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/plan.md")
	must(t, err)
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	for _, lang := range []string{"json", "yaml"} {
		parts := strings.Split(doc, "```"+lang+"\n")
		if len(parts) < 2 {
			t.Errorf("no example in %s", lang)
		}
		for _, part := range parts[1:] {
			example, _, _ := strings.Cut(part, "```")
			p, ds := Parse("example."+lang, []byte(example), Options{Dir: t.TempDir()})
			ds = slices.DeleteFunc(ds, func(d Diagnostic) bool { return d.Code == CodeNoMatch }) // there are no files
			if p == nil || len(ds) != 0 {
				t.Errorf("%s example: %v", lang, ds)
			}
		}
	}
	d := newDecoder(Options{}, "")
	for _, names := range [][]string{d.planType.names(), d.limitType.names(), d.policyType.names(),
		d.taskType.names(), d.checkType.names(), d.setupType.names(),
		d.fileType.names(), d.conditionType.names(), d.estimateType.names(), d.waveType.names(), d.linkType.names(),
		d.paramType.names(), d.foreachType.names(),
		newObjectType("a step", stepFields(taskFields())...).names()} {
		for _, name := range names {
			if !strings.Contains(doc, "`"+name+"`") && !strings.Contains(doc, "."+name+"`") &&
				!strings.Contains(doc, `"`+name+`"`) && !strings.Contains(doc, "{"+name) && !strings.Contains(doc, name+"}") {
				t.Errorf("docs/plan.md does not name the field %s", name)
			}
		}
	}
	for _, code := range codes(t) {
		if !strings.Contains(doc, "`"+code+"`") {
			t.Errorf("docs/plan.md does not name the code %s", code)
		}
	}
}

// codes reads the constants Code... from the source.
func codes(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, name := range []string{"diag.go", "source/problem.go"} {
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, "Code") {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok { // the others are constants of source
				code, err := strconv.Unquote(lit.Value)
				must(t, err)
				list = append(list, code)
			}
			return true
		})
	}
	if len(list) < 25 {
		t.Fatalf("only %d codes found", len(list))
	}
	return list
}
