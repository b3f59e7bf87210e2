package reference

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const values = `{"params": {"target": "api", "n": 12345678901234567890, "yes": true, "none": null,
	"list": ["a", 1, "; rm -rf $HOME"], "all": [{"f": [1, 2], "g": "x"}, {"f": [3]}, {"h": null}], "o": {"a b": [{"c": "deep"}]}}}`

func decoded(t testing.TB) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(values))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExpand(t *testing.T) {
	t.Parallel()
	all := decoded(t)
	for _, tc := range []struct{ text, want, wrong string }{
		{text: "none: $x ${HOME} ${params} ${paramsx.y} $$ ${", want: "none: $x ${HOME} ${params} ${paramsx.y} $$ ${"},
		{text: "${params.target}/${params.n}-${params.yes}", want: "api/12345678901234567890-true"},
		{text: "$${params.target} $$${params.target} ${params.target}", want: "${params.target} $${params.target} api"},
		{text: `${params.list[0]} ${params.o["a b"][0].c}`, want: "a deep"},
		{text: `${params.list | join("}, ")}`, want: "a}, 1}, ; rm -rf $HOME"},
		{text: `${params.all[*].f[*] | join(" ")} ${params.all[*].g | json} ${params.all[*]|json}`,
			want: `1 2 3 ["x"] [{"f":[1,2],"g":"x"},{"f":[3]},{"h":null}]`},
		{text: `${params.o[*] | json}`, wrong: "there is no such value"},
		{text: `${params.o|json}`, want: `{"a b":[{"c":"deep"}]}`},
		{text: `${params.gone | default("x\ny")} ${params.none|default("z")} ${params.target | default("no")}`,
			want: "x\ny z api"},
		{text: `${params.none | json}`, want: "null"},
		{text: "${params.gone}", wrong: "has no value"},
		{text: "${params.gone | json}", wrong: "there is no such value"},
		{text: "${params.list[3]}", wrong: "has no value"},
		{text: "${params.target.x}", wrong: "has no value"},
		{text: "${params.none}", wrong: "is null"},
		{text: "${params.list}", wrong: "is a list"},
		{text: "${params.o}", wrong: "is an object"},
		{text: `${params.target | join(",")}`, wrong: "join needs a list"},
		{text: `${params.o["a b"] | join(",")}`, wrong: "is an object"},
		{text: "${params.}", wrong: "a name must follow"},
		{text: "${params.a", wrong: "closing } is missing"},
		{text: "${params.a b}", wrong: "a path and functions"},
		{text: "${params[x]}", wrong: "an index from 0"},
		{text: `${params["x}`, wrong: "closing quote"},
		{text: `${params["\x"]}`, wrong: "no JSON string"},
		{text: "${params.list[0}", wrong: "closing ]"},
		{text: "${params.a | upper}", wrong: "the functions are"},
		{text: "${params.a | join}", wrong: `join needs a text`},
		{text: "${params.a[99999999999999999999]}", wrong: "an index from 0"},
	} {
		got := ""
		p, err := Parse(tc.text)
		if err == nil {
			got, err = p.Expand(func(r *Ref) (string, error) { return r.Eval(all) })
		}
		if got != tc.want || (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: got %q, %v, want %q, %q", tc.text, got, err, tc.want, tc.wrong)
		}
		if Has(tc.text) != (err != nil || len(p.Refs()) > 0 || strings.Contains(tc.text, "$${params.")) {
			t.Errorf("%s: Has reports %t", tc.text, Has(tc.text))
		}
	}
	for text, want := range map[string][2]string{
		"${item} ${item }${item|json}": {"${item} ${item }${item|json}", `a a"a"`},
		"$${item} ${items} ${item":     {"$${item} ${items} ${item", "${item} ${items} ${item"}} {
		for k, parse := range []func(string) (*Template, error){Parse, ParseItem} {
			p, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Expand(func(r *Ref) (string, error) { return r.Eval(map[string]any{"item": "a"}) })
			if got != want[k] || err != nil {
				t.Errorf("%s: got %q, %v, want %q", text, got, err, want[k])
			}
		}
	}
	p, err := Parse("${params.gone}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Refs()[0].Eval(all); !errors.Is(err, ErrMissing) {
		t.Errorf("the error is %v", err)
	}
}

// No text makes the parser panic. A text without references is unchanged; values are not read as references.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "${params.a}", "$${params.a}", "${run.id",
		`${tasks.T-001.output["}"][0] | join("}")|json}`,
		"${item[0]} ${x}", `${params["\u0000"]|default("\\")}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || !Has(text) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		got, err := p.Expand(func(r *Ref) (string, error) {
			if _, err := r.Eval(map[string]any{}); err == nil && len(r.funcs) == 0 {
				t.Errorf("%q: ${%s} has a value", text, r.Text)
			}
			return "${" + r.Text + "}", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "$${") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// A text may have many braces of a shell or of a program.
func TestManyBraces(t *testing.T) {
	t.Parallel()
	braces := strings.Repeat("${x} $${run.x} ", 200_000)
	p, err := Parse(braces + "${run.id}" + braces)
	if err != nil || len(p.Refs()) != 1 || p.String() != strings.ReplaceAll(braces+"${run.id}"+braces, "$${", "${") {
		t.Errorf("%d references, %v", len(p.Refs()), err)
	}
}
