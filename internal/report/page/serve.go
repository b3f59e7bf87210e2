package page

// This file serves the page of a run under way to its own user: on loopback only, below a secret
// path, with news as server-sent events. It knows HTTP; the caller makes the content and publishes
// it.
//
// Any program on this machine, and any web page in the user's browser, can reach a port on
// loopback. So the path holds a token; the Host must be one of the server's own, because a foreign
// name that resolves to loopback could otherwise read the page; and a request that a browser marks
// as coming from another site is refused.

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	writeTimeout = 10 * time.Second // for a reader that reads nothing
	heartbeat    = 20 * time.Second // between signs of life on a quiet stream
)

// Snapshot is the run at one moment. The server only reads it.
type Snapshot struct {
	Run     *Run
	Details *Details
}

// Control carries out the requests of the person at the page. The server calls it from the goroutines of its requests.
// Its answers are one line for the person.
type Control interface {
	// Stop asks the wavex at work to start nothing more, or to interrupt its attempts too.
	Stop(interrupt bool) string
	// Answer answers an open question. late reports that it had an answer, or no time was left.
	Answer(id, choice string) (words string, late bool)
	// Attend says that a person is there, until release is called.
	Attend() (release func())
}

// Server serves the newest snapshot. It is safe for concurrent use.
type Server struct {
	token  string
	hosts  []string            // allowed, port included
	redact func([]byte) []byte // removes secrets from the responses

	Control Control // set before Serve; nil: the page is only read

	mu      sync.Mutex
	current Snapshot
	changed chan struct{} // closed, and replaced, at each snapshot
	data    []byte        // now.Run, encoded
	ended   chan struct{} // closed when the server ends
}

// Listen opens a port on loopback; 0 lets the system choose one. clean, which may be nil, is
// applied to every response.
func Listen(ctx context.Context, port int, clean func([]byte) []byte) (*Server, net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, nil, fmt.Errorf("opening a port for the page: %w", err)
	}
	_, p, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	if clean == nil {
		clean = func(b []byte) []byte { return b }
	}
	return &Server{token: rand.Text(), hosts: []string{"127.0.0.1:" + p, "localhost:" + p}, redact: clean,
		changed: make(chan struct{}), ended: make(chan struct{})}, l, nil
}

// URL returns the address of the page, with the token.
func (s *Server) URL() string { return "http://" + s.hosts[0] + "/" + s.token + "/" }

// Publish replaces the served snapshot and notifies all listeners.
func (s *Server) Publish(n Snapshot) error {
	live := *n.Run
	live.Live, live.Controls = true, s.Control != nil
	n.Run = &live
	data, err := Encode(n.Run)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.data = n, s.redact(data)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// Serve answers requests until ctx ends. Then it says goodbye to the listeners, finishes the
// current requests, and closes the port. It returns nil if ctx ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s, ReadHeaderTimeout: writeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
	}
	close(s.ended)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := h.Shutdown(end)
	if err != nil {
		err = errors.Join(err, h.Close())
	}
	<-done
	return err
}

// ServeHTTP answers or refuses one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'") // a meta tag cannot set frame-ancestors
	if code, why := s.refusal(r); code != 0 {
		http.Error(w, why, code)
		return
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name, arg, _ := strings.Cut(rest, "/")
	if r.Method == http.MethodPost {
		s.act(w, name, arg)
		return
	}
	switch name {
	case "":
		s.page(w)
	case "events":
		s.events(w, r)
	case "task":
		s.task(w, arg)
	default:
		http.NotFound(w, r)
	}
}

// refusal returns the status code and the reason of a refusal, or 0 if the request is allowed. It
// checks the token first, so that a guess learns nothing from the other refusals.
func (s *Server) refusal(r *http.Request) (code int, why string) {
	if !slices.Contains(s.hosts, r.Host) {
		return http.StatusMisdirectedRequest, "this is not the host of the page"
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
		return http.StatusForbidden, "requests of other sites are refused"
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return http.StatusForbidden, "requests of other sites are refused"
	}
	token, _, slash := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || !slash {
		return http.StatusNotFound, "the address needs the token that wavex watch --web has printed"
	}
	switch {
	case r.Method == http.MethodGet:
	case r.Method != http.MethodPost || s.Control == nil:
		return http.StatusMethodNotAllowed, "the page is only read"
	case r.Header.Get("Origin") == "": // every browser sends it
		return http.StatusForbidden, "requests of other sites are refused"
	}
	return 0, ""
}

// act carries out a request of the person at the page: "drain", "stop" or "answer/ID/CHOICE".
func (s *Server) act(w http.ResponseWriter, name, arg string) {
	words, code := "", http.StatusOK
	switch name {
	case "drain":
		words = s.Control.Stop(false)
	case "stop":
		words = s.Control.Stop(true)
	case "answer":
		id, choice, _ := strings.Cut(arg, "/")
		late := false
		if words, late = s.Control.Answer(id, choice); late {
			code = http.StatusConflict
		}
	default:
		words, code = "there is no such action", http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(s.redact([]byte(words))) // a closed connection is not an error
}

func (s *Server) snapshot() (n Snapshot, data []byte, news <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.data, s.changed
}

func (s *Server) page(w http.ResponseWriter) {
	n, _, _ := s.snapshot()
	var b bytes.Buffer
	if n.Run == nil {
		http.Error(w, "there is nothing to show yet", http.StatusServiceUnavailable)
		return
	}
	if err := Write(&b, n.Run, nil, nil); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(s.redact(b.Bytes())) // a closed connection is not an error
}

func (s *Server) task(w http.ResponseWriter, arg string) {
	n, _, _ := s.snapshot()
	i, err := strconv.Atoi(arg)
	if n.Run == nil || err != nil || i < 0 || i >= len(n.Run.Tasks) {
		http.Error(w, "there is no such task", http.StatusNotFound)
		return
	}
	b, err := Encode(n.Details.Task(i, true))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.redact(b)) // a closed connection is not an error
}

// events sends the run, and again at each change, until the reader closes the connection or the
// server ends. A slow reader gets the newest snapshot, not each one.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if s.Control != nil {
		defer s.Control.Attend()()
	}
	c := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) bool {
		if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return false
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return c.Flush() == nil
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	_, data, news := s.snapshot()
	for {
		if len(data) > 0 && !send("event: run\ndata: "+string(data)+"\n\n") {
			return
		}
		select {
		case <-news:
			_, data, news = s.snapshot()
		case <-alive.C:
			data = nil
			if !send(": \n\n") {
				return
			}
		case <-s.ended:
			send("event: bye\ndata: {}\n\n")
			return
		case <-r.Context().Done():
			return
		}
	}
}
