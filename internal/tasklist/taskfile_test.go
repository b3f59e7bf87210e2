package tasklist

// This file checks which files are tasks, which parts of them survive a change, and that any other
// file is an error without a panic.

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// written is a task as claude 2.1.330 writes it, with one more field.
const written = `{
  "id": "3",
  "subject": "Add <b> & \"c\"",
  "description": "line\nVerify: true",
  "activeForm": "Adding",
  "status": "pending",
  "later": [
    1,
    {
      "z": 1e400
    }
  ],
  "blocks": [],
  "blockedBy": [
    "1",
    "2"
  ],
  "metadata": {
    "b": null,
    "a": "x"
  },
  "owner": "me"
}`

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	task, err := parse("3", []byte(written))
	testrepo.Must(t, err)
	if got := string(task.render()); got != written {
		t.Errorf("an unchanged task is written as\n%s", got)
	}
	if task.Subject != `Add <b> & "c"` || task.Owner != "me" || !slices.Equal(task.BlockedBy, []string{"1", "2"}) ||
		task.Metadata.Text("a") != "x" {
		t.Errorf("%+v", task)
	}
	task.Status, task.Owner, task.ActiveForm = Completed, "", ""
	task.Metadata.Set("b", nil)
	task.Metadata.Set("wave", []byte("2"))
	want := strings.NewReplacer(`"pending"`, `"completed"`, `,
  "owner": "me"`, "", `  "activeForm": "Adding",
`, "", `    "b": null,
    "a": "x"`, `    "a": "x",
    "wave": 2`).Replace(written)
	if got := string(task.render()); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestNoTasks(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("x", 10<<20)
	for name, c := range map[string]struct {
		text, code, says string
		at               string // the position of the mistake is the start of this text
		half             bool
	}{
		"empty":             {"", "syntax", "empty", "", true},
		"blank":             {" \n", "syntax", "empty", "", true},
		"half":              {`{"id":"1","subj`, "syntax", "in the middle", "", true},
		"new over old":      {pending("1", "") + `ks":[]}`, "syntax", "", `ks":[]}`, true},
		"two":               {pending("1", "") + pending("1", ""), "syntax", "more after the end", "", true},
		"list":              {`[]`, "wrong-type", "object", "", false},
		"bom":               {"\ufeff" + pending("1", ""), "encoding", "byte order mark", "", false},
		"utf-16":            {"\xff\xfe{\x00", "syntax", "no JSON", "", true},
		"utf-8":             {pending("1", ",\"x\":\"\xff\""), "syntax", "UTF-8", "", true},
		"nul":               {pending("1", ",\"x\":\"\x00\""), "syntax", "no JSON", "", true},
		"nuls":              {strings.Repeat("\x00", 1000), "syntax", "no JSON", "", true},
		"deep":              {pending("1", `,"x":`+strings.Repeat("[", 1<<20)), "syntax", "no JSON", "", true},
		"long line":         {pending("1", `,"x":"`+mega+`"`), "too-large", "4 MB", "", false},
		"twice":             {pending("1", `,"status":"completed"`), "syntax", "duplicate", "", true},
		"a long name twice": {pending("1", `,"`+mega[:1<<20]+`":1,"`+mega[:1<<20]+`":2`), "syntax", "duplicate", "", true},
		"failed": {strings.Replace(pending("1", ""), "pending", "failed", 1), "bad-value", `"failed"`,
			`"failed"`, false},
		"a long status": {strings.Replace(pending("1", ""), "pending", strings.Repeat("x", 1<<20), 1), "bad-value",
			`xxx..."`, "", false},
		"number": {strings.Replace(pending("1", ""), `"id":"1"`, `"id":1`, 1), "wrong-type", "id must be a string",
			`1,"subject`, false},
		"other id":       {pending("2", ""), "bad-id", "1.json", `"2"`, false},
		"no id":          {`{"subject":"x","description":"","status":"pending"}`, "missing-field", "no id", "", false},
		"no description": {`{"id":"1","subject":"x","status":"pending"}`, "missing-field", "no description", "", false},
		"owner null":     {pending("1", `,"owner":null`), "wrong-type", "owner", "", false},
		"blocks no list": {`{"id":"1","subject":"x","description":"","status":"pending","blocks":"2"}`, "wrong-type",
			"blocks", `"2"}`, false},
		"blocks of numbers": {`{"id":"1","subject":"x","description":"","status":"pending","blocks":[2]}`, "wrong-type",
			"blocks", `[2]`, false},
		"metadata": {pending("1", `,"metadata":[]`), "wrong-type", "metadata", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task, err := parse("1", []byte(c.text))
			var m *FileError
			if !errors.As(err, &m) {
				t.Fatalf("accepted: %+v %v", task, err)
			}
			if m.Code != c.code || !strings.Contains(m.Text, c.says) || m.MaybePartial != c.half || c.at != "" &&
				m.At != strings.Index(c.text, c.at) || len(m.Text) > 1000 {
				t.Errorf("got %+v", m)
			}
		})
	}
	if task, err := parse("3", []byte(strings.ReplaceAll(written, "\n", "\r\n"))); err != nil ||
		string(task.render()) != written {
		t.Errorf("lines as Windows ends them: %v", err)
	}
	// Missing lists are empty: the plan does not need them.
	if task, err := parse("1", []byte(`{"id":"1","subject":"x","description":"","status":"pending"}`)); err != nil ||
		task.Blocks != nil {
		t.Errorf("%+v %v", task, err)
	}
}

func FuzzTask(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte(pending("3", `,"metadata":{"wavex":{"files":["a"]}}`)))
	f.Add([]byte("\ufeff{"))
	f.Add([]byte(`{"id":"3","subject":"\ud800","description":"\u0000","status":"pending"}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		task, err := parse("3", src)
		if err != nil {
			var m *FileError
			if !errors.As(err, &m) || m.At < 0 || m.At > len(src) || m.Code == "" || m.Text == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		// Rendering and parsing again changes and loses nothing.
		out := task.render()
		again, err := parse("3", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !bytes.Equal(again.render(), out) {
			t.Fatalf("not stable: %s", out)
		}
		var before, after map[string]any
		one, two := json.NewDecoder(bytes.NewReader(src)), json.NewDecoder(bytes.NewReader(out))
		one.UseNumber()
		two.UseNumber()
		if one.Decode(&before) != nil || two.Decode(&after) != nil {
			t.Fatal("no JSON")
		}
		for name, v := range before {
			if !reflect.DeepEqual(v, after[name]) {
				t.Fatalf("%s was %v and is %v", name, v, after[name])
			}
		}
		o, _ := task.planTask(nil, true)
		if !json.Valid(o.Value()) {
			t.Fatalf("the plan's task is no JSON: %s", o.Value())
		}
	})
}
