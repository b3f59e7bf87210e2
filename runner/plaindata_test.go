package runner_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/runner"
)

// Requests and results can be sent to another process: their JSON form leaves out only the fields that are marked,
// and no part of it is a func, a channel or an interface.
func TestPlainData(t *testing.T) {
	t.Parallel()
	for _, v := range []any{runner.Request{}, runner.Result{}, runner.Turn{}, runner.TurnRequest{}, runner.TurnResult{},
		runner.Question{}, runner.Answer{}} {
		typ := reflect.TypeOf(v)
		t.Run(typ.Name(), func(t *testing.T) {
			t.Parallel()
			if requirePlain(t, typ, typ.Name()); t.Failed() {
				return
			}
			rapid.Check(t, func(t *rapid.T) {
				sent, received := reflect.New(typ), reflect.New(typ)
				fill(t, sent.Elem())
				data, err := json.Marshal(sent.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(data, received.Interface()); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(received.Interface(), sent.Interface()) {
					t.Errorf("%s:\n%+v\nbecame\n%+v", typ, sent.Elem(), received.Elem())
				}
			})
		})
	}
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	rawJSONType = reflect.TypeFor[json.RawMessage]()
)

// requirePlain reports the parts of a type that its JSON form lacks. path names the type in errors.
func requirePlain(t *testing.T, typ reflect.Type, path string) {
	t.Helper()
	if typ == timeType || typ == rawJSONType {
		return
	}
	switch typ.Kind() {
	case reflect.Func, reflect.Chan, reflect.Interface:
		t.Errorf("%s cannot be sent: it is a %s", path, typ.Kind())
	case reflect.Pointer, reflect.Slice, reflect.Map:
		requirePlain(t, typ.Elem(), path)
	case reflect.Struct:
		for f := range typ.Fields() {
			if !f.IsExported() {
				t.Errorf("%s.%s is not sent", path, f.Name)
			}
			if f.Tag.Get("json") != "-" {
				requirePlain(t, f.Type, path+"."+f.Name)
			}
		}
	}
}

// fill sets all parts of v to random values.
func fill(t *rapid.T, v reflect.Value) {
	if v.Type() == timeType {
		at := time.Unix(rapid.Int64Range(0, math.MaxUint32).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		v.Set(reflect.ValueOf(at.UTC()))
		return
	}
	if v.Type() == rawJSONType {
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{"a":[1,null]}`, `"text"`, `7`}).Draw(t, "JSON")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1, 1).Draw(t, "float"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, "set") {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key)
			fill(t, elem)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for f, part := range v.Fields() {
			if f.Tag.Get("json") != "-" {
				fill(t, part)
			}
		}
	default:
		t.Fatalf("no random value for a %s", v.Type())
	}
}
