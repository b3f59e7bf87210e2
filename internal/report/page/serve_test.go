package page_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// serve starts a server with a story's run. stop ends it and returns its error.
func serve(t *testing.T, s *reporttest.FakeRun) (srv *page.Server, stop func() error) {
	t.Helper()
	srv, l, err := page.Listen(t.Context(), 0, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("hunter2!"),
			[]byte("(gone)"))
	})
	testrepo.Must(t, err)
	if s != nil {
		publish(t, srv, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { _ = stop() })
	return srv, stop
}

func publish(t *testing.T, srv *page.Server, s *reporttest.FakeRun) {
	t.Helper()
	testrepo.Must(t, srv.Publish(page.Snapshot{Run: page.Of(s.S, s.Events, s.Now(), true), Details: page.DetailsOf(s.S,
		s.Events,
		nil)}))
}

// client returns a client that keeps no connection, so that none outlives a test.
func client() *http.Client {
	return &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
}

func get(t *testing.T, url string, change func(*http.Request)) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	testrepo.Must(t, err)
	if change != nil {
		change(r)
	}
	resp, err := client().Do(r)
	testrepo.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	testrepo.Must(t, err)
	return resp.StatusCode, string(b), resp.Header
}

func TestServes(t *testing.T) {
	t.Parallel()
	story := reporttest.MixedRun(t, nil)
	story.S.Plan.Name = "hunter2!"
	srv, _ := serve(t, story)
	if !strings.HasPrefix(srv.URL(), "http://127.0.0.1:") {
		t.Fatalf("it listens at %s", srv.URL())
	}
	code, body, head := get(t, srv.URL(), nil)
	if code != 200 || !strings.Contains(body, `"live":true`) || !strings.Contains(body, "connect-src &#39;self&#39;") {
		t.Errorf("%d: %.300s", code, body)
	}
	if strings.Contains(body, "hunter2!") || !strings.Contains(body, "(gone)") {
		t.Error("what is to be cleaned is sent")
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "frame-ancestors 'none'"} {
		if head.Get(name) != want {
			t.Errorf("%s is %q", name, head.Get(name))
		}
	}
	if code, body, _ := get(t, srv.URL()+"task/1", nil); code != 200 || !strings.Contains(body, "off by one") {
		t.Errorf("task/1: %d %s", code, body)
	}
	for _, path := range []string{"task/6", "task/-1", "task/x", "task/", "else", "task/../.."} {
		if code, _, _ := get(t, srv.URL()+path, nil); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	// The name localhost is also allowed.
	if code, _, _ := get(t, strings.Replace(srv.URL(), "127.0.0.1", "localhost", 1), nil); code != 200 {
		t.Errorf("by localhost: %d", code)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	srv, _ := serve(t, reporttest.MixedRun(t, nil))
	url := srv.URL()
	root := url[:strings.LastIndex(strings.TrimSuffix(url, "/"), "/")+1]
	token := strings.TrimSuffix(strings.TrimPrefix(url, root), "/")
	if len(token) < 26 {
		t.Fatalf("the token %q is short", token)
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(value string) func(*http.Request) { return func(r *http.Request) { r.Host = value } }
	port := strings.TrimSuffix(strings.TrimPrefix(root, "http://127.0.0.1"), "/")
	for name, tc := range map[string]struct {
		url    string
		change func(*http.Request)
		code   int
	}{
		"no token":                   {root, nil, 404},
		"no token, events":           {root + "events", nil, 404},
		"another token":              {root + strings.Repeat("A", len(token)) + "/", nil, 404},
		"a longer token":             {root + token + "A/", nil, 404},
		"half a token":               {root + token[:13] + "/", nil, 404},
		"the token in small letters": {root + strings.ToLower(token) + "/", nil, 404},
		"the token as a query":       {root + "?token=" + token, nil, 404},
		"a foreign host":             {url, host("attacker.example" + port), 421},
		"a foreign host, no port":    {url, host("attacker.example"), 421},
		"our host, another port":     {url, host("127.0.0.1:1"), 421},
		"another loopback":           {url, host("127.0.0.2" + port), 421},
		"a foreign host, events":     {url + "events", host("attacker.example" + port), 421},
		"a foreign host, no token":   {root, host("attacker.example"), 421},
		"a foreign origin":           {url, header("Origin", "http://attacker.example"), 403},
		"a foreign origin, events":   {url + "events", header("Origin", "http://attacker.example"), 403},
		"a foreign origin, task":     {url + "task/0", header("Origin", "https://127.0.0.1"+port), 403},
		"no origin to speak of":      {url, header("Origin", "null"), 403},
		"another local server":       {url, header("Origin", "http://127.0.0.1:1"), 403},
		"a link on another site":     {url, header("Sec-Fetch-Site", "cross-site"), 403},
		"a page of the same site":    {url, header("Sec-Fetch-Site", "same-site"), 403},
		"a post":                     {url, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		"a delete":                   {url + "task/0", func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		"our own origin":             {url + "task/0", header("Origin", root[:len(root)-1]), 200},
		"the user's own typing":      {url, header("Sec-Fetch-Site", "none"), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, body, _ := get(t, tc.url, tc.change)
			if code != tc.code {
				t.Errorf("%d, want %d", code, tc.code)
			}
			if code != 200 && (strings.Contains(body, "T-001") || strings.Contains(body, token)) {
				t.Errorf("the refusal tells something: %s", body)
			}
		})
	}
}

// reader reads server-sent events.
type reader struct {
	t    *testing.T
	in   *bufio.Reader
	body io.Closer
}

func listen(t *testing.T, srv *page.Server) reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL()+"events", nil)
	testrepo.Must(t, err)
	resp, err := client().Do(r)
	testrepo.Must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the events are %q", kind)
	}
	return reader{t, bufio.NewReader(resp.Body), resp.Body}
}

// next returns the next event's name and data.
func (r reader) next() (name, data string) {
	r.t.Helper()
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			r.t.Fatalf("the events end: %v", err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" && name != "":
			return name, data
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
}

// A listener gets the run at once, each change, and a goodbye.
func TestEvents(t *testing.T) {
	t.Parallel()
	story := reporttest.PausedRun(t, nil)
	srv, stop := serve(t, story)
	one, two := listen(t, srv), listen(t, srv)
	for _, r := range []reader{one, two} {
		if name, data := r.next(); name != "run" || !strings.Contains(data, `"status":"running"`) {
			t.Fatalf("%s %.200s", name, data)
		}
	}
	story.EndRun("interrupted", 130, "enough", "wavex resume")
	publish(t, srv, story)
	for _, r := range []reader{one, two} {
		if name, data := r.next(); name != "run" || !strings.Contains(data, `"status":"interrupted"`) {
			t.Fatalf("%s %.200s", name, data)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("ending: %v", err)
	}
	for _, r := range []reader{one, two} {
		if name, _ := r.next(); name != "bye" {
			t.Errorf("the last event is %q", name)
		}
	}
}

// Without a run there is nothing to show, and a listener that leaves is released.
func TestBeforeFirstSnapshot(t *testing.T) {
	t.Parallel()
	srv, stop := serve(t, nil)
	if code, _, _ := get(t, srv.URL(), nil); code != 503 {
		t.Errorf("%d", code)
	}
	if code, _, _ := get(t, srv.URL()+"task/0", nil); code != 404 {
		t.Errorf("%d", code)
	}
	publish(t, srv, reporttest.CompleteRun(t, nil))
	r := listen(t, srv)
	r.next()
	testrepo.Must(t, r.body.Close())
	if err := stop(); err != nil {
		t.Errorf("ending: %v", err)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	_, l, err := page.Listen(t.Context(), 0, nil)
	testrepo.Must(t, err)
	defer func() { _ = l.Close() }()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	n := 0
	for _, c := range port {
		n = n*10 + int(c-'0')
	}
	if _, _, err := page.Listen(t.Context(), n, nil); err == nil {
		t.Error("two servers on one port")
	}
}

// control is a Control that records its calls.
type control struct{ asked []string }

func (c *control) Stop(interrupt bool) string {
	c.asked = append(c.asked, fmt.Sprintf("stop %t", interrupt))
	return "asked"
}

func (c *control) Answer(id, choice string) (string, bool) {
	c.asked = append(c.asked, id+" "+choice)
	return "hunter2!", id == "q2"
}

func (*control) Attend() func() { return func() {} }

// The page acts only by POST, with the token, and from the page itself.
func TestActs(t *testing.T) {
	t.Parallel()
	srv, stop := serve(t, nil)
	c := &control{}
	srv.Control = c
	url := srv.URL()
	origin := strings.Join(strings.SplitN(url, "/", 4)[:3], "/")
	for _, tt := range []struct {
		method, path, origin, site string
		code                       int
		words                      string
	}{
		{"POST", "drain", origin, "same-origin", 200, "asked"},
		{"POST", "stop", origin, "", 200, "asked"},
		{"POST", "answer/q1/once", origin, "same-origin", 200, "(gone)"},
		{"POST", "answer/q2/no", origin, "same-origin", 409, "(gone)"},
		{"POST", "other", origin, "same-origin", 404, "there is no such action"},
		{"POST", "drain", "", "", 403, ""},
		{"POST", "drain", "null", "", 403, ""},
		{"POST", "drain", "http://localhost:1", "", 403, ""},
		{"POST", "drain", origin, "cross-site", 403, ""},
		{"POST", "../guessed/drain", origin, "same-origin", 404, ""},
		{"GET", "drain", origin, "same-origin", 404, ""},
		{"PUT", "drain", origin, "same-origin", 405, ""},
	} {
		code, text, _ := get(t, url+tt.path, func(r *http.Request) {
			r.Method = tt.method
			if strings.HasPrefix(tt.path, "../") {
				r.URL.Path = strings.TrimPrefix(tt.path, "..")
			}
			r.Header.Set("Origin", tt.origin)
			if tt.origin == "" {
				r.Header.Del("Origin")
			}
			r.Header.Set("Sec-Fetch-Site", tt.site)
		})
		if code != tt.code || tt.words != "" && text != tt.words {
			t.Errorf("%+v: %d %q", tt, code, text)
		}
	}
	testrepo.Must(t, stop())
	if got := strings.Join(c.asked, ", "); got != "stop false, stop true, q1 once, q2 no" {
		t.Errorf("it was asked for: %s", got)
	}
}
