package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/runner"
)

// The fields of messages are those that testdata has for the protocol. A reader refuses unknown fields, so another
// field is another protocol. WAVEX_UPDATE=1 writes the file of a new protocol, and changes no file that is there.
func TestProtocolFields(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	fmt.Fprintf(&got, "id %s\nfiles %s %s %s\n", NextID(ID("run", "task/1", 2)), RequestFile, ProgressFile, ResultFile)
	for _, v := range []any{Message{}, Request{}, Progress{}, runner.Result{}} {
		typ := reflect.TypeOf(v)
		got.WriteString("\n" + typ.Name() + "\n")
		writeFields(&got, typ, "", nil)
	}
	path := filepath.Join("testdata", fmt.Sprintf("protocol-%d.txt", Protocol))
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("WAVEX_UPDATE") != "" {
		want, err = []byte(got.String()), os.WriteFile(path, []byte(got.String()), 0o644)
	}
	if err != nil {
		t.Fatalf("%v; the fields of a new protocol are written by WAVEX_UPDATE=1 go test -run %s", err, t.Name())
	}
	if got.String() == string(want) {
		return
	}
	var changed []string
	had, has := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for prefix, lists := range map[string][2][]string{"-": {had, has}, "+": {has, had}} {
		for _, line := range lists[0] {
			if !slices.Contains(lists[1], line) {
				changed = append(changed, prefix+line)
			}
		}
	}
	t.Errorf("messages are not those of %s: raise Protocol, and say in docs/workers.md (Upgrading) which it is\n%s",
		path, strings.Join(changed, "\n"))
}

// writeFields writes the JSON fields of a type, one a line, with those of the types in it.
func writeFields(to *strings.Builder, typ reflect.Type, path string, seen []reflect.Type) {
	if slices.Contains(seen, typ) {
		return
	}
	own := reflect.TypeFor[json.Marshaler]()
	switch {
	case typ.Implements(own) || reflect.PointerTo(typ).Implements(own):
		return
	case typ.Kind() == reflect.Pointer, typ.Kind() == reflect.Slice, typ.Kind() == reflect.Map:
		writeFields(to, typ.Elem(), path, seen)
		return
	case typ.Kind() != reflect.Struct:
		return
	}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case name == "" && f.Anonymous:
			writeFields(to, f.Type, path, append(seen, typ))
			continue
		case name == "":
			name = f.Name
		}
		fmt.Fprintf(to, "%s %s\n", path+name, strings.TrimSpace(jsonKind(f.Type)+" "+options))
		writeFields(to, f.Type, path+name+".", append(seen, typ))
	}
}

// jsonKind returns the kind of JSON value that encoding/json makes of a type.
func jsonKind(t reflect.Type) string {
	own := reflect.TypeFor[json.Marshaler]()
	if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Slice, reflect.Array:
		return "list of " + jsonKind(t.Elem())
	case reflect.Map:
		return "map of " + jsonKind(t.Elem())
	case reflect.Struct:
		return "object"
	}
	return t.Kind().String()
}
