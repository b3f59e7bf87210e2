package hook

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"wavex/internal/loop"
)

// observed is the input that claude 2.1.330 sends.
const observed = `{"session_id":"s1","transcript_path":"/h/t.jsonl","cwd":"/p","prompt_id":"6b","permission_mode":"default","hook_event_name":"Stop",` +
	`"stop_hook_active":true,"last_assistant_message":"done","background_tasks":[{"id":"b1","type":"shell","status":"running","description":"d","command":"sleep 1"}],"session_crons":[]}`

func TestReadInput(t *testing.T) {
	t.Parallel()
	good := Input{Event: "Stop", Session: "s1", Dir: "/p", StopActive: true,
		Background: []Background{{"running", "sleep 1"}}}
	for name, c := range map[string]struct {
		text, instead string
		ok            bool
	}{
		"as observed":             {observed, "", true},
		"ARGUMENTS":               {" \r\n", observed, true},
		"stdin first":             {observed, "{}x", true},
		"byte order mark":         {"\ufeff" + observed, "", true},
		"CRLF":                    {strings.ReplaceAll(observed, ",", ",\r\n") + "\r\n", "", true},
		"nothing":                 {"", "", false},
		"no object":               {"[1]", "", false},
		"half":                    {observed[:100], "", false},
		"twice":                   {observed + observed, "", false},
		"a field of another type": {strings.Replace(observed, `"s1"`, `{}`, 1), "", false},
		"NULs":                    {strings.Repeat("\x00", 100), "", false},
		"invalid UTF-8":           {strings.Replace(observed, "done", "\xff\xfe", 1), "", false},
		"UTF-16":                  {"\xff\xfe{\x00}\x00", "", false},
		"deep":                    {strings.Repeat("[", 1_000_000), "", false},
		"deep inside": {`{"session_id":"s1","x":` + strings.Repeat(`{"x":`, 100_000) + "1" +
			strings.Repeat("}", 100_000) + "}", "", false},
		"a megabyte of message":    {strings.Replace(observed, "done", strings.Repeat("done", 1<<18), 1), "", true},
		"ten megabytes of message": {strings.Replace(observed, "done", strings.Repeat("done", 10<<18), 1), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := ReadInput(strings.NewReader(c.text), c.instead)
			if (err == nil) != c.ok {
				t.Fatalf("error %v", err)
			}
			if c.ok && (in.Session != good.Session || in.Dir != good.Dir || in.Event != good.Event || !in.StopActive ||
				len(in.Background) != 1 || in.Background[0] != good.Background[0]) {
				t.Errorf("read %+v", in)
			}
		})
	}
	if _, err := ReadInput(iotest.ErrReader(errors.New("gone")), "{}"); err == nil {
		t.Error("a broken pipe is no input")
	}
	if in, err := ReadInput(strings.NewReader(strings.Replace(observed, "[{", `[3,{`, 1)), ""); err != nil ||
		in.Session != "s1" || in.Background != nil {
		t.Errorf("background tasks in another form: %+v, %v", in, err)
	}
}

// For every input and every folder, the hook answers, and it holds only the session that owns the
// run.
func FuzzDecideStop(f *testing.F) {
	for _, s := range []string{observed, `{}`, ``, "\ufeff{}", `{"session_id":null}`, "\x00\xff",
		`{"cwd":"\u0000/../..","session_id":"s1"}`, strings.Repeat(`{"a":`, 50)} {
		f.Add([]byte(s), []byte(`{"v":1,"run":"r","owner":"s1","tasks":2}`))
	}
	f.Add([]byte(observed), []byte(`{"v":1,"run":"r","owner":"s1","current":[{"id":"\u001b[2J"}],"announce":["\n"]}`))
	f.Fuzz(func(t *testing.T, input, card []byte) {
		in, err := ReadInput(bytes.NewReader(input), "")
		if err != nil && in.Session != "" {
			t.Fatalf("an error, and a session %q", in.Session)
		}
		Find(in.Dir)
		c, err := parseSnapshot(card)
		if err != nil {
			return
		}
		r := Run{Snapshot: c}
		v := DecideStop(in, r, 3, func() (int, bool) { return 0, true })
		if v.Block && (in.Session == "" || in.Session != c.Owner) {
			t.Fatalf("held session %q of a run of %q", in.Session, c.Owner)
		}
		for _, format := range Formats() {
			Render(v, format)
		}
		if text := Announcement(r) + v.Reason; strings.ContainsAny(text, "\x1b\x00") {
			t.Fatalf("control characters in %q", text)
		}
	})
}

// A journal of noise lets every session go.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"journal\":\"wavex\",\"version\":1}\n"))
	f.Add([]byte("\n\n\n"))
	f.Fuzz(func(t *testing.T, noise []byte) {
		folder := loop.Dir(t.TempDir())
		must(t, os.WriteFile(folder.Path(loop.Journal), noise, 0o600))
		if _, err := Read(folder); err == nil {
			t.Fatal("read a run out of noise, without a card")
		}
	})
}
