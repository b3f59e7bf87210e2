package hook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const oursStop = `{"type":"command","command":"wavex","args":["hook","stop"],"timeout":10}`
const oursStart = `{"type":"command","command":"wavex","args":["hook","session-start"],"timeout":10}`
const oursAlone = `{"hooks":{"Stop":[{"hooks":[` + oursStop + `]}],"SessionStart":[{"hooks":[` + oursStart + `]}]}}`

func TestInstall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing there": {"", `{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "wavex",
            "args": [
              "hook",
              "stop"
            ],
            "timeout": 10
          }
        ]
      }
    ],
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "wavex",
            "args": [
              "hook",
              "session-start"
            ],
            "timeout": 10
          }
        ]
      }
    ]
  }
}
`},
		"on one line": {`{"b":1.50,"a":"<\u00fc>"}`, `{"b":1.50,"a":"<\u00fc>","hooks":` + oursAlone[len(`{"hooks":`):]},
		"beside others": {`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}],"PreToolUse":[]},"z":{}}`,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]},{"hooks":[` + oursStop +
				`]}],"PreToolUse":[],"SessionStart":[{"hooks":[` + oursStart + `]}]},"z":{}}`},
		"there already": {oursAlone, oursAlone},
		"there under another path, with the user's timeout": {strings.ReplaceAll(strings.ReplaceAll(oursAlone, `"wavex"`,
			`"C:\\old\\wavex.exe"`), "10", "3"), strings.ReplaceAll(oursAlone, "10", "3")},
		"there twice": {`{"hooks":{"Stop":[{"matcher":"","hooks":[` + oursStop + `,` + oursStop + `]},{"hooks":[` + oursStop +
			`]}],"SessionStart":[{"hooks":[` + oursStart + `]}]}}`,
			`{"hooks":{"Stop":[{"matcher":"","hooks":[` + oursStop + `]}],"SessionStart":[{"hooks":[` + oursStart + `]}]}}`},
		"as a line for a shell": {`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"\"/a b/wavex\" hook stop"}]}],"SessionStart":[{"hooks":[` + oursStart + `]}]}}`,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"wavex","args":["hook","stop"]}]}],"SessionStart":[{"hooks":[` + oursStart + `]}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Install([]byte(c.text), "wavex")
			if err != nil || string(got) != c.want {
				t.Errorf("got %s (%v)\nwant %s", got, err, c.want)
			}
			if again, err := Install(got, "wavex"); err != nil || string(again) != string(got) {
				t.Errorf("again %s (%v)", again, err)
			}
		})
	}
}

// Install keeps the form of the file.
func TestInstallKeepsFormatting(t *testing.T) {
	t.Parallel()
	tabs := "{\n\t\"b\": 1,\n\t\"a\": [\n\t\t2\n\t]\n}"
	for name, c := range map[string]struct{ text, has string }{
		"tabs":              {tabs, "\n\t\"hooks\": {\n\t\t\"Stop\": ["},
		"CRLF":              {strings.ReplaceAll(tabs, "\n", "\r\n") + "\r\n", "\r\n\t\"hooks\": {\r\n\t\t\"Stop\": ["},
		"byte order mark":   {"\ufeff" + tabs + "\n", "\n\t\"hooks\": {"},
		"a form of its own": {"{\n   \"b\": 1, \"a\": 2\n}\n", `"b": 1, "a": 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Install([]byte(c.text), "wavex")
			must(t, err)
			s := string(got)
			if !strings.Contains(s, c.has) || strings.HasPrefix(s, "\ufeff") != strings.HasPrefix(c.text, "\ufeff") ||
				strings.HasSuffix(s, "\n") != strings.HasSuffix(c.text, "\n") || strings.Count(s, "\r\n") != 0 &&
				strings.Count(s, "\r\n") != strings.Count(s, "\n") {
				t.Errorf("got %q", s)
			}
			if name == "a form of its own" {
				return // uninstalling keeps these blanks
			}
			if back, err := Uninstall(got); err != nil || string(back) != c.text {
				t.Errorf("taken out: %q (%v)", back, err)
			}
		})
	}
}

func TestUninstall(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		oursAlone: `{}`,
		`{"a":1}`: `{"a":1}`,
		`{"hooks":{"Stop":[{"hooks":[{"command":"x"},` + oursStop +
			`]}],"Other":[]}}`: `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}],"Other":[]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"command":"wavex hook stop-it"},{"command":"notwavex hook stop"}]}]}}`: `{"hooks":{"Stop":[{"hooks":[{"command":"wavex hook stop-it"},{"command":"notwavex hook stop"}]}]}}`,
	} {
		if got, err := Uninstall([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s: got %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n  \"a\": 1,\n}":                "2:9: not valid JSON",
		"{\r\n  // mine\r\n}":              "2:3: not valid JSON",
		"{\"ü\": 1 \"b\"}":                 "1:9: not valid JSON",
		"{\"a\":1,\n\"a\":2}":              "2:1: not valid JSON: duplicate",
		`{"a":"` + "\xff" + `"}`:           "not valid JSON",
		"[]":                               "1:1: settings are a JSON object",
		"{} {}":                            "1:4: something stands behind",
		"{\n\"hooks\": []}":                `2:10: "hooks" is not an object`,
		"{\"hooks\": {\n \"Stop\": {}\n}}": "2:10: hooks.Stop is not an array",
		strings.Repeat("[", 100_000):       "not valid JSON",
		"\x00":                             "1:1: not valid JSON",
	} {
		for _, change := range []func([]byte) ([]byte, error){Uninstall,
			func(b []byte) ([]byte, error) { return Install(b, "wavex") }} {
			if got, err := change([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q: %.100q, error %v, want %q", text, got, err, want)
			}
		}
	}
}

// Install and Uninstall together restore every settings file, whatever other hooks it has, and a
// second Install changes nothing.
func TestInstallProperties(t *testing.T) {
	t.Parallel()
	others := rapid.SampledFrom([]string{"x", "wavex run", "/bin/wavex hook", "echo wavex hook stop", "prettier --write"})
	rapid.Check(t, func(t *rapid.T) {
		groups := func(label string) []any {
			var out []any
			for range rapid.IntRange(0, 3).Draw(t, label) {
				var hs []any
				for range rapid.IntRange(0, 2).Draw(t, "handlers") {
					hs = append(hs, map[string]any{"type": "command", "command": others.Draw(t, "command")})
				}
				out = append(out, map[string]any{"matcher": rapid.SampledFrom([]string{"", "Bash"}).Draw(t, "matcher"),
					"hooks": hs})
			}
			return out
		}
		doc := map[string]any{"env": map[string]any{"A.b": "<1>"}, "permissions": map[string]any{"allow": []any{"Bash(a:*)"}}}
		hooks := map[string]any{"PreToolUse": groups("before")}
		if list := groups("stop"); len(list) > 0 {
			hooks["Stop"] = list
		}
		doc["hooks"] = hooks
		text, err := json.MarshalIndent(doc, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		once, err := Install(text, "/opt/wavex")
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Install(once, "/opt/wavex")
		if err != nil || string(twice) != string(once) {
			t.Fatalf("a second time: %v\n%s\n%s", err, once, twice)
		}
		if n := strings.Count(string(once), `"/opt/wavex"`); n != 2 {
			t.Fatalf("%d hooks of ours in %s", n, once)
		}
		back, err := Uninstall(once)
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, back, text) {
			t.Fatalf("was\n%s\nis\n%s", text, back)
		}
	})
}

func same(t interface{ Fatal(...any) }, a, b []byte) bool {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(fmt.Sprintf("%v: %s", err, a))
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{"", "{}", oursAlone, "\ufeff{\r\n}\r\n",
		`{"hooks":{"Stop":[1,[],{"hooks":{}},{"hooks":[null,{"args":[1],"command":2}]}]}}`, `{"a":1}{`,
		`{"hooks":{"Stop":null}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Install(text, "wavex")
		if err != nil {
			return
		}
		if !json.Valid([]byte(strings.TrimPrefix(string(once), byteOrderMark))) {
			t.Fatalf("no JSON: %q", once)
		}
		if twice, err := Install(once, "wavex"); err != nil || string(twice) != string(once) {
			t.Fatalf("a second time %q becomes %q (%v)", once, twice, err)
		}
		out, err := Uninstall(once)
		if err != nil {
			t.Fatalf("cannot be taken out of %q: %v", once, err)
		}
		for _, w := range hookEvents {
			if left := findHandlers(out, w.event, w.verb); len(left) > 0 {
				t.Fatalf("left in %q: %v", out, left)
			}
		}
	})
}
