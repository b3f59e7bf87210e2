package jsonobject_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"wavex/internal/jsonobject"
)

func TestValueGet(t *testing.T) {
	t.Parallel()
	v := jsonobject.Value(` {"a": {"b":[1, "x\u0041\n", {"c":true}]}, "n" : null, "a":2, "\u0064":-1.5e1, "raw":"` +
		"\xff" + `", "":{"":7}} `)
	for path, want := range map[string]string{"a.b.0": "1", "a.b.1": `"x\u0041\n"`, "a.b.2.c": "true", "a.b.3": "",
		"a.b.c": "", "a.b.0.x": "", "n": "null", "d": "-1.5e1", "none": "", ".": "7", "a.b.": ""} {
		if got := v.Get(path); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%q: %q, want %q", path, got, want)
		} else if got != nil && !strings.HasPrefix(string(v[v.At(got):]), want) {
			t.Errorf("%q is not at %d", path, v.At(got))
		}
	}
	list := v.Get("a.b")
	if got := list.Get("1").Text(); got != "xA\n" || list.Get("0").Text() != "" || v.Get("raw").Text() != "\xff" {
		t.Errorf("%q", got)
	}
	if list.Len() != 3 || v.Len() != 6 || list.Get("1").Len() != 0 || jsonobject.Value(nil).Len() != 0 {
		t.Errorf("%d elements, %d members", list.Len(), v.Len())
	}
	if v.Get("n").String()+list.Get("0").String()+list.Get("1").String() != "1xA\n" {
		t.Errorf("%s %s", list.Get("0"), list.Get("1"))
	}
	var names []string
	for name := range v.Members() {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"a", "n", "a", "d", "raw", ""}) {
		t.Errorf("%q", names)
	}
	if !list.Get("2.c").Bool() || list.Get("0").Bool() || list.Get("9").Bool() {
		t.Errorf("%v", list)
	}
}

func TestValueNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"1": 1, "-2.5": -2.5, "1e999": math.Inf(1), `"1"`: 0, "true": 0, "": 0} {
		if got := jsonobject.Value(text).Float(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]int64{"1": 1, "-2.9": -2, "1e999": 0, "9007199254740993": 0, `"1"`: 0} {
		if got := jsonobject.Value(text).Int(); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// The members before the end of a value that is cut off are found, and the last one is the rest.
func TestValueCutOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"a":{"b":1,"c":"x`: "1 x", `{"a":{"b":1,"c":"x"}`: "1 x",
		`{"a":{"b":1`:     "1 ",
		`{"a":{"b":1,"c"`: "1 ", `{"a":{"b":1,"c":`: "1 ", `{"a":{"b":1,`: "1 ", `{"a`: " ", `{`: " ", "": " ",
		`{"a":{"b":1,"c":"x","d":nul}`: "1 x", `{"a":{"b":1,"c":"x"}} more`: "1 x", `{"a":{"b":1 "c":"x"}}`: "1 "} {
		v := jsonobject.Value(text)
		if got := v.Get("a.b").String() + " " + v.Get("a.c").Text(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// An edit changes no other byte, except the comma and blanks of a removed value.
func TestValueWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, path, value, want string }{
		{`{ "a" : 1 , "b":2 }`, "a", "[]", `{ "a" : [] , "b":2 }`},
		{`{ "a" : 1 , "b":2 }`, "c", "3", `{ "a" : 1 , "b":2,"c":3 }`},
		{`{ "a" : 1 , "b":2 }`, "a", "", `{"b":2 }`},
		{`{ "a" : 1 , "b":2 }`, "b", "", `{ "a" : 1 }`},
		{`{ "a" : 1 }`, "a", "", `{}`},
		{`{"a":1}`, "b", "", `{"a":1}`},
		{`{}`, "a.b.-1", "1", `{"a":{"b":[1]}}`},
		{`{"a":{"b":[ 0 ]}}`, "a.b.-1", "1", `{"a":{"b":[ 0,1 ]}}`},
		{`{"a":[0, {"b":1}, 2]}`, "a.1.b", "9", `{"a":[0, {"b":9}, 2]}`},
		{`{"a":[0, {"b":1}, 2]}`, "a.1", "", `{"a":[0, 2]}`},
		{`{"a":[0, {"b":1}, 2]}`, "a.0", "", `{"a":[{"b":1}, 2]}`},
	} {
		value := jsonobject.Value(c.value)
		if c.value == "" {
			value = nil
		}
		if got := jsonobject.Value(c.text).With(c.path, value); string(got) != c.want {
			t.Errorf("%s with %s %s: %s, want %s", c.text, c.path, c.value, got, c.want)
		}
	}
}

// FuzzValue compares valid objects with encoding/json. No text makes a method panic, or leave the text.
func FuzzValue(f *testing.F) {
	f.Add(`{"a":{"b":[1e999,"\ud800\n"]},"c":null}`, "a.b.1")
	f.Add(`{"a":[1,`, "a.-1")
	f.Add(" [{\"\xff\":tru", "0")
	f.Fuzz(func(t *testing.T, text, path string) {
		v := jsonobject.Value(text)
		got := v.Get(path)
		if got != nil && !strings.HasPrefix(text[v.At(got):], string(got)) {
			t.Fatalf("%q is not at %d of %q", got, v.At(got), text)
		}
		_, _, _ = got.Text(), got.String(), got.Int()
		if out := v.With(path, jsonobject.Value("1")); json.Valid(v) && v.Kind() == '{' && !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
		if out := v.With(path, nil); json.Valid(v) && v.Kind() == '{' && !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
		var o map[string]any
		if json.Unmarshal(v, &o) != nil || !v.IsValid() {
			return
		}
		for name, value := range v.Members() {
			if want, known := o[name]; known && v.Len() == len(o) && want != nil && !strings.ContainsRune(name, '.') {
				if s, is := want.(string); is && s != strings.ToValidUTF8(value.Text(), "\ufffd") {
					t.Fatalf("%q: %q, want %q", name, value.Text(), s)
				}
			}
		}
	})
}
