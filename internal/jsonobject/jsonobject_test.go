package jsonobject_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
)

func TestParse(t *testing.T) {
	t.Parallel()
	src := ` {"b": 1.50, "a":"x\u0041", "c":{"z":1,"y":2}} `
	o, end, err := jsonobject.Parse([]byte(src))
	if err != nil || end < len(src)-1 {
		t.Fatal(o, end, err)
	}
	if got, want := string(o.Value()), `{"b":1.50,"a":"x\u0041","c":{"z":1,"y":2}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, f := range o {
		if got := src[f.At : f.At+len(f.Value)]; got != string(f.Value) {
			t.Errorf("%s is at %q, not %q", f.Name, got, f.Value)
		}
	}
	if o.Text("a") != "xA" || o.Text("b") != "" || o.Text("none") != "" || o.Get("none") != nil {
		t.Errorf("%q %q", o.Text("a"), o.Text("b"))
	}
	for src, want := range map[string]error{`[]`: jsonobject.ErrNotObject, `{} {}`: jsonobject.ErrMore} {
		if _, _, err := jsonobject.Parse([]byte(src)); !errors.Is(err, want) {
			t.Errorf("%s: %v", src, err)
		}
	}
	for _, src := range []string{``, `{`, `{"a":1,"a":2}`, `{"a"}`, `{"a":1]`, `{} x`} {
		if o, _, err := jsonobject.Parse([]byte(src)); err == nil {
			t.Errorf("%s is %v", src, o)
		}
	}
}

func TestRepeatedNames(t *testing.T) {
	t.Parallel()
	o, _, err := jsonobject.Parse([]byte(`{"a":1,"b":2,"a":3}`), jsontext.AllowDuplicateNames(true))
	if err != nil || string(o.Value()) != `{"a":3,"b":2}` {
		t.Errorf("%s %v", o.Value(), err)
	}
}

func TestSetLeavesCopies(t *testing.T) {
	t.Parallel()
	var o jsonobject.Object
	o.Set("a", jsonobject.Quote("<1>\xff"))
	before := slices.Clip(o)
	o.Set("a", jsontext.Value("2"))
	o.Set("b", jsontext.Value("3"))
	o.Set("none", nil)
	if got := string(before.Value()) + string(o.Value()); got != `{"a":"\u003c1\u003e\ufffd"}{"a":2,"b":3}` {
		t.Error(got)
	}
	was := o
	o.Set("a", nil)
	if string(o.Value()) != `{"b":3}` || string(was.Value()) != `{"a":2,"b":3}` {
		t.Errorf("%s, before %s", o.Value(), was.Value())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"a":{"b":[1e999]},"":null}`)
	f.Fuzz(func(t *testing.T, s string) {
		o, _, err := jsonobject.Parse([]byte(s))
		if err != nil {
			return
		}
		again, _, err := jsonobject.Parse(o.Value())
		if err != nil || !json.Valid(o.Value()) || string(again.Value()) != string(o.Value()) {
			t.Fatalf("%q became %s, then %s, %v", s, o.Value(), again.Value(), err)
		}
	})
}
