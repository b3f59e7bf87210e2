package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/internal/testrepo"
)

// Keys that no service ever issued, assembled here so that scanners do not find them.
var (
	letters = strings.Repeat("aB3dE5gH", 8)
	github  = "gh" + "p_" + letters[:36]
	aws     = "AK" + "IA" + "ABCDEFGH12345678"
)

func TestKeyPatterns(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for _, c := range []struct{ in, want string }{
		{"key sk-" + "ant-api03-" + letters[:40] + ".", "key [redacted: Anthropic key]."},
		{"sk-" + "proj-" + letters[:40], "[redacted: API key]"},
		{"task-list-with-a-very-long-name-that-goes-on-and-on", ""},
		{"sk-learn-with-a-very-long-name-that-goes-on-and-on", ""},
		{"x=" + github + "\n", "x=[redacted: GitHub token]\n"},
		{"github" + "_pat_" + letters[:30], "[redacted: GitHub token]"},
		{"gl" + "pat-" + letters[:20], "[redacted: GitLab token]"},
		{aws, "[redacted: AWS key id]"},
		{`{"a":"x\n` + github + `\u001b` + aws + `"}`, `{"a":"x\n[redacted: GitHub token]\u001b[redacted: AWS key id]"}`},
		{"xo" + "xb-1234567890-abcdefg", "[redacted: Slack token]"},
		{"https://hooks." + "slack.com/services/T0000/B0000/" + letters[:24],
			"https://hooks.slack.com/services/[redacted: Slack webhook]"},
		{"AI" + "za" + letters[:35], "[redacted: Google key]"},
		{"npm" + "_" + letters[:36], "[redacted: npm token]"},
		{"ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r", "[redacted: JWT]"},
		{`curl -H "Authorization: Bearer abcdef0123456789"`, `curl -H "Authorization: Bearer [redacted: authorization]"`},
		{`{"command":"curl -H \"authorization: token abcdef0123456789\""}`,
			`{"command":"curl -H \"authorization: token [redacted: authorization]\""}`},
		{"postgres://app:s3cr3t@db/x", "postgres://app:[redacted: password]@db/x"},
		{"redis://:s3cr3t@cache:6379/0", "redis://:[redacted: password]@cache:6379/0"},
		{"http://:8080/a@b", ""},
		{"AUTHORIZATION: BEARER abcdef0123456789", "AUTHORIZATION: BEARER [redacted: authorization]"},
		{"http://127.0.0.1:8080/a@b", ""},
		{"-----BEGIN RSA PRIVATE" + " KEY-----\nAAAA\nBBBB\n-----END RSA PRIVATE KEY-----",
			"-----BEGIN RSA PRIVATE KEY-----[redacted: private key]-----END RSA PRIVATE KEY-----"},
		{`{"text":"-----BEGIN PRIVATE` + ` KEY-----\nAAAA","more":1}`,
			`{"text":"-----BEGIN PRIVATE KEY-----[redacted: private key]","more":1}`},
		{"-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\nAAAA\n-----END PGP PRIVATE KEY BLOCK-----",
			"-----BEGIN PGP PRIVATE KEY BLOCK-----[redacted: private key]-----END PGP PRIVATE KEY BLOCK-----"},
		{`{"env":"DB_PASSWORD=hunter22\n"}`, `{"env":"DB_PASSWORD=[redacted: assigned secret]\n"}`},
		{`client_secret: "a1b2c3d4e5"`, `client_secret: "[redacted: assigned secret]"`},
		{"machine db login app password s3cr3t", "machine db login app password [redacted: netrc password]"},
		{"Set-Cookie: sid=0123456789; Path=/", "Set-Cookie: sid=[redacted: cookie]; Path=/"},
		{"cookie: sid=0123456789", "cookie: sid=[redacted: cookie]"},
		{"X-Api-Key: a1b2c3d4e5", "X-Api-Key: [redacted: assigned secret]"},
		{"DB_PASS=hunter22x", "DB_PASS=[redacted: assigned secret]"},
		{"SECRET_KEY=abc12345", "SECRET_KEY=[redacted: assigned secret]"},
		{`{"t":"login b\npassword s3cr3t\n"}`, `{"t":"login b\npassword [redacted: netrc password]\n"}`},
		{"POSTGRES://app:s3cr3t@db/x", "POSTGRES://app:[redacted: password]@db/x"},
		{"secret=/var/run/secrets/db1.txt2, xapp-symbolic-icons-more", ""},
		{`password: string, secret=os.Getenv("SECRET"), "api_key": null, secrets = 12345678, the password is long1234`, ""},
		{"commit 98250d9a1c7e4b55f0e9d1f1a0b3c4d5e6f70819, session 2f1c8e0a-77aa-4b6e-9c55-0d6b8c7e9f10", ""},
	} {
		if c.want == "" {
			c.want = c.in
		}
		if got := r.String(c.in); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// A key of each form has one of its markers, and is found.
func TestEveryForm(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for _, f := range keyPatterns().patterns {
		if strings.HasPrefix(f.re().String(), "(?i)") {
			continue // the markers are the usual spellings
		}
		keys, tried := rapid.StringMatching(f.re().String()), 0
		for seed := 0; tried < 5 && seed < 500; seed++ {
			key := keys.Example(seed)
			if m := f.re().FindStringSubmatch(key); !looksLike([]byte(m[len(m)-1]), f.how) || m[len(m)-1] == "" {
				continue
			}
			if tried++; !strings.Contains(r.String("key: "+key), "[redacted: ") {
				t.Errorf("%s: %q is not found", f.what, key)
			}
		}
		if tried == 0 {
			t.Errorf("%s: no key was tried", f.what)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := New([]string{
		"DEPLOY_TOKEN=hunter22", "DB_PASSWORD=p&ss \"w\"\\rd", "TOKEN_FILE=/run/token-file", "API_KEY=anything",
		"KEYBOARD=qwertz-2000",
		"SSH_AUTH_SOCK=/run/agent.sock", "AWS_SECRET_ACCESS_KEY=/" + letters[:20] + "/" + letters[:18],
		"LONG_SECRET=hunter22-and-more", "PATH=/usr/bin:/bin", "MY_PAT=short1",
		"SIGNING_KEY=-----BEGIN\nfirst-line-of-the-key\nsecond-line-of-the-key\n",
	})
	for _, c := range []struct{ in, want string }{
		{"it is hunter22!", "it is [redacted: DEPLOY_TOKEN]!"},
		{"hunter22-and-more", "[redacted: LONG_SECRET]"},
		{`p&ss "w"\rd`, "[redacted: DB_PASSWORD]"},
		{`{"a":"p&ss \"w\"\\rd"}`, `{"a":"[redacted: DB_PASSWORD]"}`},
		{`{"a":"p\u0026ss \"w\"\\rd"}`, `{"a":"[redacted: DB_PASSWORD]"}`},
		{"?q=p%26ss+%22w%22%5Crd", "?q=[redacted: DB_PASSWORD]"},
		{"only second-line-of-the-key here", "only [redacted: SIGNING_KEY] here"},
		{"anything goes, /run/token-file, qwertz-2000, /run/agent.sock, /usr/bin, short1", ""},
		{"key /" + letters[:20] + "/" + letters[:18] + ".", "key [redacted: AWS_SECRET_ACCESS_KEY]."},
	} {
		if c.want == "" {
			c.want = c.in
		}
		if got := r.String(c.in); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestNilChangesNothing(t *testing.T) {
	t.Parallel()
	var r *Redactor
	var out bytes.Buffer
	w := r.Writer(&out)
	if _, err := w.Write([]byte(github)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || out.String() != github || r.String(github) != github ||
		string(r.Bytes([]byte(github))) != github || r.Value(github) != github {
		t.Errorf("%q %v", out.String(), err)
	}
}

// TestWriterIsString: for any sequence of writes the output equals String of the whole, and whole
// lines are written at once.
func TestWriterIsString(t *testing.T) {
	t.Parallel()
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	piece := rapid.SampledFrom([]string{"hunter22", "hunter", "22", github, github[:20], "\n", " text ", `{"a":"b"}`,
		"sk-", aws, "\n\n"})
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
			done := whole[:len(whole)-len(rest)]
			if lines := done[:strings.LastIndexByte(done, '\n')+1]; out.Len() < len(r.String(lines)) {
				t.Fatalf("%d bytes out after %q", out.Len(), done)
			}
		}
		if err := w.Close(); err != nil || out.String() != r.String(whole) {
			t.Fatalf("got  %q\nwant %q", out.String(), r.String(whole))
		}
	})
}

// TestWriterOfOneLongLine: the writer neither buffers the whole line nor misses a key at any cut.
func TestWriterOfOneLongLine(t *testing.T) {
	t.Parallel()
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	line := strings.Repeat(strings.Repeat("x", 997)+" hunter22 ", 300)
	var out bytes.Buffer
	w := r.Writer(&out)
	for b := []byte(line); len(b) > 0; {
		n := min(len(b), 4099)
		if _, err := w.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
		if held := len(line) - len(b) - out.Len(); held > 2*maxPending {
			t.Fatalf("%d bytes held", held)
		}
	}
	if err := w.Close(); err != nil || out.String() != r.String(line) {
		t.Errorf("%d bytes, want %d, %v", out.Len(), len(r.String(line)), err)
	}
}

func TestWriterKeepsKeyFilesTogether(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := New(nil).Writer(&out)
	for _, line := range []string{"a\n", "-----BEGIN PRIVATE" + " KEY-----\n", "MIIEvQ\n", "AAAA\n",
		"-----END PRIVATE KEY-----\n", "b\n"} {
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
	}
	testrepo.Must(t, w.Close())
	if want := "a\n-----BEGIN PRIVATE KEY-----[redacted: private key]-----END PRIVATE KEY-----\nb\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestWriterReturnsErrors(t *testing.T) {
	t.Parallel()
	w := New(nil).Writer(failing{})
	if _, err := w.Write([]byte("line\n")); !errors.Is(err, io.ErrShortBuffer) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortBuffer }

// TestData: forms that also match code count in texts for people, and not in data. Both know the keys of services.
func TestData(t *testing.T) {
	t.Parallel()
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	const text, clean = "DB_PASSWORD=s3cr3t-and-more", "DB_PASSWORD=[redacted: assigned secret]"
	type result struct {
		Report string  `secret:"text"`
		Notes  []inner `secret:"text"`
		Output json.RawMessage
		Check  string
	}
	in := result{text, []inner{{Text: text}}, json.RawMessage(`{"password":"s3cr3t-and-more","token":"hunter22"}`),
		text + " curl -H 'Authorization: Bearer " + github + "'"}
	want := result{clean, []inner{{Text: clean}},
		json.RawMessage(`{"password":"s3cr3t-and-more","token":"[redacted: DEPLOY_TOKEN]"}`),
		text + " curl -H 'Authorization: Bearer [redacted: GitHub token]'"}
	if got := r.Value(in); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.Data().String(text); got != text || r.String(text) != clean {
		t.Errorf("data %s, text %s", got, r.String(text))
	}
	if (*Redactor)(nil).Data() != nil {
		t.Error("no Redactor became one")
	}
}

// TestJSONStaysJSON: a line of JSON without its secrets is JSON of the same keys.
func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	word := rapid.SampledFrom([]string{"password", "secret", "api_key", "=", ":", " ", `"`, "\\", "\n", "'", "a1b2c3d4e5",
		"12345678",
		"Set-Cookie: sid=", "authorization: bearer ", "://u:", "@h", "login x password ", github, "hunter22", "<", "\u2028",
		"-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE KEY-----"})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(word, 0, 12), func(w []string) string { return strings.Join(w, "") })
		in := map[string]any{"password": text.Draw(t, "value"), "n": 12345678,
			"secret": []any{text.Draw(t, "element"), nil, true}, "api_key": map[string]any{"text": text.Draw(t, "inner")}}
		line, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Password string
			N        int
			Secret   [3]any
			Key      struct{ Text string } `json:"api_key"`
		}
		if err := json.Unmarshal(r.Bytes(line), &out); err != nil || out.N != 12345678 || out.Secret[2] != true {
			t.Fatalf("%v: %s", err, r.Bytes(line))
		}
	})
}

type inner struct {
	Text  string
	Raw   json.RawMessage
	Until time.Time
}

type outer struct {
	Name  string
	List  []inner
	Map   map[string]string
	Ptr   *inner
	Any   any
	Array [2]string
	Count int
	own   string
}

func TestValue(t *testing.T) {
	t.Parallel()
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	now := time.Now()
	make := func(s string) outer {
		return outer{Name: s, List: []inner{{Text: "plain"}, {Text: s, Raw: json.RawMessage(`"` + s + `"`), Until: now}},
			Map: map[string]string{"a": s, "b": "plain"}, Ptr: &inner{Text: s}, Any: []string{s}, Array: [2]string{"plain", s},
			Count: 3, own: "own"}
	}
	in := make("x hunter22")
	got := r.Value(in).(outer)
	b, _ := json.Marshal(got)
	want, _ := json.Marshal(make("x [redacted: DEPLOY_TOKEN]"))
	if string(b) != string(want) || got.own != "own" {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	b, _ = json.Marshal(in)
	want, _ = json.Marshal(make("x hunter22"))
	if string(b) != string(want) {
		t.Errorf("the original was changed: %s", b)
	}
	clean := make("plain")
	if out := r.Value(&clean); out != any(&clean) {
		t.Error("a value without secrets was copied")
	}
}

// A recursive type is searched for texts; unexported fields stay.
func TestValueOfRecursiveTypes(t *testing.T) {
	t.Parallel()
	type node struct {
		Next *node
		Kids []node
		Time time.Time
		Text string
		own  string
	}
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	in := node{Next: &node{Kids: []node{{Text: "plain"}, {Text: "hunter22", own: "hunter22"}}}, Time: time.Now()}
	out := r.Value(in).(node)
	if got := out.Next.Kids[1]; got.Text != "[redacted: DEPLOY_TOKEN]" || got.own != "hunter22" ||
		in.Next.Kids[1].Text != "hunter22" || out.Time != in.Time {
		t.Errorf("got %+v of %+v", got, in.Next.Kids[1])
	}
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte("hunter22 " + github + "\n-----BEGIN PRIVATE" + " KEY-----\n"))
	f.Add([]byte(`authorization: bearer xxxxxxxxxxxxxxx a://b:ccc@`))
	r := New([]string{"DEPLOY_TOKEN=hunter22"})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.Clone(b)
		out := r.Bytes(b)
		if !bytes.Equal(in, b) {
			t.Fatal("the input was changed")
		}
		if bytes.Contains(out, []byte("hunter22")) {
			t.Fatalf("%q", out)
		}
	})
}

// A path that begins with a folder of this machine is not a secret, even if it looks like a key with a slash.
func TestPathThatLooksLikeAKey(t *testing.T) {
	t.Parallel()
	top, _, _ := strings.Cut(filepath.ToSlash(t.TempDir())[1:], "/")
	dir := "/" + top
	const rest = "/Keys20261127/AbcdefghijklmnopQrstuvw"
	for _, name := range []string{"PWD", "DEPLOY_KEY"} {
		if IsSecret(name, dir+rest) {
			t.Errorf("%s=%s is a secret", name, dir+rest)
		}
		if !IsSecret(name, "/none"+rest) {
			t.Errorf("%s=/none%s is no secret", name, rest)
		}
	}
}
