package plan

// This file feeds arbitrary input to the parsers. For every input there is no panic, there is a
// verdict, and a returned plan is consistent.

import (
	"os"
	"testing"
)

func FuzzJSON(f *testing.F) { fuzz(f, "plan.json", "testdata/full.json") }
func FuzzYAML(f *testing.F) { fuzz(f, "plan.yaml", "testdata/full.yaml") }

func fuzz(f *testing.F, name, seed string) {
	full, err := os.ReadFile(seed)
	must(f, err)
	f.Add(full)
	for _, s := range []string{"", "{}", "[]", "null", tasks(ok),
		tasks(ok, `{"id":"b","command":"x","blockedBy":["a","c",1]}`),
		task(`"blockedBy":["a"],"rehearse":{"a":[1,{}]},"metadata":{"x":1e9}`),
		"tasks:\n- {id: 1, subject: x}\n- id: 2\n  <<: *a\n", "a: &a [*a, *a]\n", "- - - &x *x",
		"tasks: &t\n- &a {id: 1, subject: x, verify: !!str 1}\n- <<: [*a]\n  id: 0x2\n", "? [a]\n: b\n", "--- a\n--- b\n",
		"a: |\n  b\n c: >-\n", "\ufeff{\"tasks\":1,}", "\"\xff\"", "%YAML 1.2\n---\n", "a: .inf\nb: .nan\nc: ~\nd: 1_0\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ds := Parse(name, data, Options{})
		if (p == nil) != HasErrors(ds) {
			t.Fatalf("plan is nil: %v, but %v", p == nil, ds)
		}
		for _, d := range ds {
			if d.Severity == "" || d.Code == "" || d.Message == "" || d.File != name || d.Line < 0 ||
				(d.Line > 0) != (d.Column > 0) {
				t.Fatalf("incomplete: %#v", d)
			}
		}
		if p == nil {
			return
		}
		if len(p.Tasks) == 0 || p.Graph.Len() != len(p.Tasks) || p.Graph.Cycles() != nil {
			t.Fatalf("%d tasks, %d nodes, cycles %v", len(p.Tasks), p.Graph.Len(), p.Graph.Cycles())
		}
		for i := range p.Tasks {
			if j, ok := p.Lookup(p.Tasks[i].ID); !ok || i != j {
				t.Fatalf("task %d is found at %d", i, j)
			}
			if len(p.Key(i)) != 64 {
				t.Fatalf("key %q", p.Key(i))
			}
		}
	})
}
