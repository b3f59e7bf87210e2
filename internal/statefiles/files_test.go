package statefiles

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

var names = []string{loop.WorkflowFile, loop.LinearFile, loop.ProgressFile}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		testrepo.Must(t, err)
		out[name] = string(text)
	}
	return out
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	testrepo.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// Rebuild gives the same files as the run, byte for byte, from nothing and over existing files.
func TestRebuildIsTheSame(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, fresh := t.TempDir(), t.TempDir()
			w := NewWriter(loop.Dir(dir), nil, func(err error) { t.Error(err) })
			s := tell(t, w.Event)
			testrepo.Must(t, w.Close())
			live := read(t, dir)
			for _, d := range []string{fresh, dir} {
				testrepo.Must(t, Rebuild(loop.Dir(d), nil, s.S))
				for file, text := range read(t, d) {
					if text != live[file] {
						t.Errorf("%s is\n%s\nwith a run and again\n%s", file, live[file], text)
					}
				}
			}
		})
	}
}

// Keys of other programs and scores stay, also in a rebuild; wavex's own values win.
func TestKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, loop.WorkflowFile,
		`{"x-first": [1,  2], "stage": "intent", "spec_score": 7, "fit_score": 35, "shape_chosen": "tool",
		"recall_surfaced": ["auth edge cases"], "reviews": {"wave_9": {}}, "version": 3, "last": 1e400}`)
	put(t, dir, loop.LinearFile,
		`{"maxIterations": 10, "circuitBreaker": {"note": "mine", "stuckCount": 77}, "exit_signal": true}`)
	s := reporttest.MixedRun(t, nil)
	for range 2 {
		testrepo.Must(t, Rebuild(loop.Dir(dir), nil, s.S))
	}
	files := read(t, dir)
	valid(t, jsonschematest.New(t, WorkflowSchema()), []byte(files[loop.WorkflowFile]))
	var w map[string]json.RawMessage
	testrepo.Must(t, json.Unmarshal([]byte(files[loop.WorkflowFile]), &w))
	for key, want := range map[string]string{"x-first": "[1,2]", "stage": `"executing"`, "spec_score": "7",
		"fit_score":    "35",
		"shape_chosen": `"tool"`, "recall_surfaced": `["auth edge cases"]`, "reviews": "{}", "version": "1",
		"last": "1e400"} {
		var got bytes.Buffer
		if err := json.Compact(&got, w[key]); err != nil || got.String() != want {
			t.Errorf("%s is %s, want %s", key, got.String(), want)
		}
	}
	var l map[string]json.RawMessage
	testrepo.Must(t, json.Unmarshal([]byte(files[loop.LinearFile]), &l))
	var b struct {
		Note  string
		Stuck int `json:"stuckCount"`
	}
	if err := json.Unmarshal(l["circuitBreaker"], &b); err != nil || b.Note != "mine" || b.Stuck == 77 {
		t.Errorf("circuitBreaker is %s", l["circuitBreaker"])
	}
	if string(l["maxIterations"]) != "10" || string(l["exit_signal"]) != "false" {
		t.Errorf("state.json is %s", files[loop.LinearFile])
	}
}

// A value that is not a valid score is not kept.
func TestInvalidScoresAreDropped(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	text, err := newModel(s.S).mergeWorkflow([]byte(
		`{"spec_score": "high", "fit_score": [], "shape_chosen": "round", "recall_surfaced": [1]}`))
	testrepo.Must(t, err)
	valid(t, jsonschematest.New(t, WorkflowSchema()), text)
}

// A file that is not an object is renamed, and the error says so.
func TestUnreadableFilesAreMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, loop.LinearFile, `{"spec": "torn`)
	s := reporttest.CompleteRun(t, nil)
	err := Rebuild(loop.Dir(dir), nil, s.S)
	if err == nil || !strings.Contains(err.Error(), "state.json.bad") {
		t.Errorf("the error is %v", err)
	}
	valid(t, jsonschematest.New(t, LinearSchema()), []byte(read(t, dir)[loop.LinearFile]))
	if old, err := os.ReadFile(filepath.Join(dir, loop.LinearFile+".bad")); err != nil || string(old) != `{"spec": "torn` {
		t.Errorf("kept %q, %v", old, err)
	}
}

// A file that cannot be replaced does not prevent the others from being written.
func TestOneFailedFileDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Must(t, os.Mkdir(filepath.Join(dir, loop.WorkflowFile), 0o755))
	s := reporttest.CompleteRun(t, nil)
	if err := Rebuild(loop.Dir(dir), nil, s.S); err == nil {
		t.Error("a directory was replaced")
	}
	for _, name := range names[1:] {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestGitignore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		testrepo.Must(t, EnsureGitignore(loop.Dir(dir)))
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf(".gitignore has %q, %v", text, err)
	}
	put(t, dir, ".gitignore", "mine\n")
	testrepo.Must(t, EnsureGitignore(loop.Dir(dir)))
	if text, _ := os.ReadFile(filepath.Join(dir, ".gitignore")); string(text) != "mine\n" {
		t.Errorf(".gitignore has %q", text)
	}
}

// For any existing object, keep has all of wavex's values and every other key.
func TestMergeKeepsEveryKey(t *testing.T) {
	t.Parallel()
	object := rapid.Custom(func(t *rapid.T) map[string]any {
		return rapid.MapOf(rapid.StringMatching(`[a-e]|"\\|é`), rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true),
			rapid.Just[any](map[string]any{"z": 1.0}))).Draw(t, "object")
	})
	rapid.Check(t, func(t *rapid.T) {
		old, ours := object.Draw(t, "old"), object.Draw(t, "ours")
		a, _ := json.Marshal(old)
		b, _ := json.Marshal(ours)
		text, err := mergeShared(a, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for k, v := range ours {
			g, ok := got[k]
			x, _ := json.Marshal(g)
			y, _ := json.Marshal(v)
			if !ok || !bytes.Equal(x, y) {
				t.Fatalf("our %q is %s, want %s", k, x, y)
			}
		}
		for k := range old {
			if _, ok := got[k]; !ok {
				t.Fatalf("their %q is gone", k)
			}
		}
		if again, err := mergeShared(text, b, nil); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("a second time it is\n%s\nand was\n%s", again, text)
		}
	})
}

// Keys that another program writes during a run are not lost.
func TestKeepsWhatOthersWriteMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := fileStore{dir: loop.Dir(dir)}
	w := reporttest.MixedRun(t, nil)
	b := newModel(w.S)
	for i, extra := range []string{`"x":1`, `"y":2`, ``} {
		testrepo.Must(t, s.write(b))
		text := read(t, dir)[loop.WorkflowFile]
		if i > 0 && !strings.Contains(text, `"x": 1`) || i > 1 && !strings.Contains(text, `"y": 2`) {
			t.Fatalf("after %d writes a key of others is gone:\n%s", i+1, text)
		}
		if extra != "" {
			put(t, dir, loop.WorkflowFile, strings.Replace(text, "{", "{"+extra+",", 1))
		}
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"a":2}`, `[]`, `{"a":{"b":[1e999]}} x`, "\xff", `{"":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := members([]byte(s))
		if err != nil {
			return
		}
		text, err := jsontext.AppendFormat(nil, list.Value(), lenientJSON...)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%q was read as an object and written as %q, %v", s, text, err)
		}
		again, err := members(text)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%q has %d keys, then %d, %v", s, len(list), len(again), err)
		}
	})
}
