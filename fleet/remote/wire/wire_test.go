package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/runner"
)

func testKey(t testing.TB, fill byte) *Key {
	t.Helper()
	k, err := NewKey(bytes.Repeat([]byte{fill}, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// request returns a request that passes Check.
func request() Request {
	return Request{Attempt: runner.Request{Run: "r-1", Task: "T 1/2",
		Attempt: 3, Commit: commit, Dir: "sub", Prompt: "do it", Files: []plan.File{{Path: "a.go", Action: "create"}},
		Checks: []plan.Check{{Run: "go test ./..."}, {File: "../b.txt"}}}}
}

// TestRoundTrip: the receiver gets the request that was sent, detached or not.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	key := testKey(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		sent := request()
		sent.Attempt.Task = rapid.StringN(1, 600, -1).Draw(t, "task")
		sent.Attempt.Prompt = strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 40_000).Draw(t, "times"))
		sent.Attempt.Cap = budget.USD(rapid.Int64().Draw(t, "cap"))
		id := ID(sent.Attempt.Run, sent.Attempt.Task, sent.Attempt.Attempt)
		msg, detached, err := New(KindRequest, id, "1.0", sent)
		if err != nil {
			t.Fatal(err)
		}
		msg.Repo, msg.Files = "git@host:team/project", commit
		data, err := msg.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > MaxMessage || (detached != nil) != (len(sent.Attempt.Prompt) > 0 && len(detached) > MaxInline) {
			t.Fatalf("a message of %d bytes, %d detached", len(data), len(detached))
		}
		opened, err := key.Open("", key.Seal("", data))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(KindRequest, id, opened)
		if err != nil {
			t.Fatal(err)
		}
		if m.Repo != msg.Repo || m.Files != msg.Files || m.Release != "1.0" {
			t.Fatalf("got %+v", m)
		}
		if detached != nil {
			if err := m.Decode(&Request{}); err == nil {
				t.Fatal("decoded without its body")
			}
			if err := m.Attach(append([]byte{' '}, detached...)); err == nil {
				t.Fatal("another body is attached")
			}
			if err := m.Attach(detached); err != nil {
				t.Fatal(err)
			}
		}
		var got Request
		if err := m.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, toValid(t, sent)) || got.Check(id) != nil && strings.ToValidUTF8(sent.Attempt.Task, "") ==
			sent.Attempt.Task {
			t.Fatalf("sent %+v\ngot %+v: %v", sent, got, got.Check(id))
		}
	})
}

// toValid returns a request as JSON passes it on.
func toValid(t *rapid.T, r Request) (out Request) {
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":          {"hello", "not a message"},
		"another protocol": {`{"protocol":1,"kind":"result","id":"i","release":"1","body":{}}`, "protocol 1; this wavex"},
		"another kind":     {`{"protocol":9,"kind":"request","id":"i","release":"1","body":{}}`, `"request" instead`},
		"another attempt":  {`{"protocol":9,"kind":"result","id":"j","release":"1","body":{}}`, `about "j", not "i"`},
		"an unknown field": {`{"protocol":9,"kind":"result","id":"i","release":"1","body":{},"x":1}`, `unknown field "x"`},
		"two values":       {`{"protocol":9,"kind":"result","id":"i","release":"1","body":{}} {}`, "text after the value"},
		"no body":          {`{"protocol":9,"kind":"result","id":"i","release":"1"}`, "either a body or a digest"},
		"body and digest":  {`{"protocol":9,"kind":"result","id":"i","release":"1","body":{},"digest":"x"}`, "either a body"},
		"too long":         {strings.Repeat(" ", MaxMessage+1), "bytes, more than"},
	} {
		if _, err := Parse(KindResult, "i", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, fields := range map[string]string{"no remote": "", "an option": `"repo":"--upload-pack=x",`,
		"no commit": `"repo":"r","files":"main",`} {
		text := `{"protocol":9,"kind":"request","id":"i","release":"1",` + fields + `"body":{}}`
		if m, err := Parse(KindRequest, "i", []byte(text)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	m, err := Parse(KindResult, "i", []byte(`{"protocol":9,"kind":"result","id":"i","release":"1","body":{"y":2}}`))
	if err != nil || m.Decode(&runner.Result{}) == nil {
		t.Errorf("a body with an unknown field is read: %v", err)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	good := request()
	id := ID(good.Attempt.Run, good.Attempt.Task, good.Attempt.Attempt)
	if err := good.Check(id); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Request){
		"another run":        func(r *Request) { r.Attempt.Run = "r-2" },
		"another attempt":    func(r *Request) { r.Attempt.Attempt = 4 },
		"no commit":          func(r *Request) { r.Attempt.Commit = "" },
		"a branch":           func(r *Request) { r.Attempt.Commit = "main" },
		"an option for WIP":  func(r *Request) { r.Attempt.WIP = "-x" },
		"an absolute folder": func(r *Request) { r.Attempt.Dir = "/srv" },
		"a folder above":     func(r *Request) { r.Attempt.Dir = "../x" },
		"an absolute file":   func(r *Request) { r.Attempt.Files[0].Path = "/etc/passwd" },
		"a file above":       func(r *Request) { r.Attempt.Files[0].Path = "../../x" },
		"a check above":      func(r *Request) { r.Attempt.Checks[1].File = "../../x" },
		"an MCP file":        func(r *Request) { r.Attempt.Settings.MCPConfig = "/etc/mcp.json" },
		"a guard above":      func(r *Request) { r.Attempt.Guards = []runner.Guard{{Path: "../../x"}} },
	} {
		r := request()
		if change(&r); r.Check(id) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 900, -1)
		run, task, n := text.Draw(t, "run"), text.Draw(t, "task"), rapid.IntRange(1, 1<<40).Draw(t, "attempt")
		id := ID(run, task, n)
		if len(id) > 1000 || strings.ContainsAny(id, " \t\n") || strings.Count(id, "/") != 3 {
			t.Fatalf("an id of %d bytes: %q", len(id), id)
		}
		if got := Run(id); got != run && got != "" {
			t.Fatalf("%q is of run %q, not %q", id, got, run)
		}
		run2, task2 := text.Draw(t, "another run"), text.Draw(t, "another task")
		if (run != run2 || task != task2) && ID(run2, task2, n) == id {
			t.Fatalf("%q and %q have the same id", run+"/"+task, run2+"/"+task2)
		}
	})
}

func TestRunOfID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{ID("r-1", "a/b", 1): "r-1", ID("r 1", "a", 1): "", "wavex/r-1/a": "",
		"x/r-1/a/1": "", "": ""} {
		if got := Run(id); got != want {
			t.Errorf("%q is of run %q, want %q", id, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	if _, err := NewKey(make([]byte, KeySize-1)); err == nil {
		t.Error("a short key is taken")
	}
	a, b := testKey(t, 1), testKey(t, 2)
	sealed := a.Seal("", []byte("text"))
	if bytes.Contains(sealed, []byte("text")) || bytes.Equal(sealed, a.Seal("", []byte("text"))) {
		t.Errorf("sealed as %q", sealed)
	}
	if _, err := b.Open("", sealed); !errors.Is(err, ErrNotSealed) {
		t.Errorf("another key opens it: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := a.Open("", bad); !errors.Is(err, ErrNotSealed) {
			t.Errorf("byte %d was changed, and it opens: %v", i, err)
		}
	}
	var none *Key
	if got, err := none.Open("", none.Seal("", []byte("text"))); string(got) != "text" || err != nil {
		t.Errorf("without a key: %q, %v", got, err)
	}
	if _, err := a.Open("", none.Seal("", []byte(`{"protocol":3}`))); err == nil {
		t.Error("a key opens what is not sealed")
	}
	file := a.Seal("wavex/r-1/t/1", []byte("text"))
	if got, err := a.Open("wavex/r-1/t/1", file); string(got) != "text" || err != nil {
		t.Errorf("a file: %q, %v", got, err)
	}
	for key, id := range map[*Key]string{a: "wavex/r-1/t/2", b: "wavex/r-1/t/1"} {
		if _, err := key.Open(id, file); !errors.Is(err, ErrNotSealed) {
			t.Errorf("another attempt or another key opens a file: %v", err)
		}
	}
	if _, err := a.Open("wavex/r-1/t/1", sealed); !errors.Is(err, ErrNotSealed) {
		t.Errorf("a message is opened as a file: %v", err)
	}
	queues := map[string]bool{a.Queue(""): true, b.Queue(""): true, none.Queue(""): true, a.Queue("w"): true,
		a.Queue("v"): true}
	if len(queues) != 5 || !strings.HasPrefix(a.Queue(""), "wavex.9.") || strings.Contains(a.Queue("x y"), " ") {
		t.Errorf("queues %v", queues)
	}
}

func FuzzOpen(f *testing.F) {
	key := testKey(f, 1)
	id := "wavex/r-1/t/1"
	m, _, err := New(KindRequest, id, "1.0", request())
	if err != nil {
		f.Fatal(err)
	}
	m.Repo = "git@host:team/project"
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, true)
	f.Add(key.Seal("", data), false)
	f.Add([]byte(`{"protocol":9,"kind":"request","id":"wavex/r-1/t/1","release":"","digest":"00"}`), true)
	f.Fuzz(func(t *testing.T, data []byte, plain bool) {
		if !plain {
			opened, err := key.Open("", data)
			if err != nil {
				return
			}
			data = opened
		}
		m, err := Parse(KindRequest, id, data)
		if err != nil || m.Digest != "" {
			return
		}
		var r Request
		if m.Decode(&r) == nil && r.Check(id) == nil && ID(r.Attempt.Run, r.Attempt.Task, r.Attempt.Attempt) != id {
			t.Errorf("another attempt passes: %+v", r)
		}
	})
}

// Only paths of large outputs move, wherever they stand.
func TestMoveOutputs(t *testing.T) {
	t.Parallel()
	const dir = "/home/me/.loop/outputs/"
	a, b := strings.Repeat("a", 64)+".json", strings.Repeat("0", 64)+".json"
	env := map[string]string{"LIST": dir + a, "OTHER": "x"}
	req := runner.Request{Prompt: "See " + dir + b + ", " + dir + a + " and " + dir + "x.json.", FullPrompt: dir, Env: env}
	names := MoveOutputs(&req, dir, OutputsDir)
	want := "See " + OutputsDir + b + ", " + OutputsDir + a + " and " + dir + "x.json."
	if !slices.Equal(names, []string{b, a}) || req.Prompt != want || req.FullPrompt != dir ||
		req.Env["LIST"] != OutputsDir+a || req.Env["OTHER"] != "x" || env["LIST"] != dir+a {
		t.Errorf("%q in %+v of %q", names, req, env)
	}
}
