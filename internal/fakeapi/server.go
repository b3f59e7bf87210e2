package fakeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"wavex/budget"
)

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Server is a running scripted API. Its methods are safe for concurrent use.
type Server struct {
	playback *playback
	http     *http.Server
	url      string
	closing  chan struct{} // closed by Close: held replies give up
	closed   chan struct{} // closed when the listener's goroutine has ended
	once     sync.Once

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a request arrives, and when a message ends
	requests []*Request
	charges  []charge
	inFlight int
	peak     int
}

type charge struct {
	model string
	usage Usage
}

// New starts a server that ends with the test, and fails the test if the script was not played as
// written.
func New(t TB, s Script) *Server {
	t.Helper()
	l, err := listen()
	if err != nil {
		t.Fatalf("starting the scripted API: %v", err)
		return nil
	}
	return NewOn(t, l, s)
}

// NewOn is New with a listener, for example one on the loopback of another network namespace.
func NewOn(t TB, l net.Listener, s Script) *Server {
	t.Helper()
	srv := serve(l, s)
	t.Cleanup(func() {
		faults := srv.Close()
		for i, fault := range faults {
			if i == 5 {
				t.Errorf("scripted API: and %d more", len(faults)-i) // the first ones show the cause
				break
			}
			t.Errorf("scripted API: %s", fault)
		}
	})
	return srv
}

func listen() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	return l, nil
}

// Start is New without a test: the caller must Close the server.
func Start(s Script) (*Server, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	return serve(l, s), nil
}

func serve(l net.Listener, s Script) *Server {
	srv := &Server{playback: newPlayback(s), url: "http://" + l.Addr().String(),
		closing: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{})}
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(srv.closed)
		_ = srv.http.Serve(l) // always http.ErrServerClosed: only Close ends it
	}()
	return srv
}

// URL returns the base address, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.url }

// Close releases held replies, ends every connection, waits, and returns the deviations from the
// script: none if it was played as written.
func (s *Server) Close() []string {
	s.once.Do(func() {
		close(s.closing)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := s.http.Shutdown(ctx); err != nil {
			_ = s.http.Close() // a client that never read its answer
		}
		<-s.closed
	})
	return s.playback.allErrors()
}

// Requests returns all requests so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Messages returns the requests for a message so far that match (nil matches all).
func (s *Server) Messages(match Match) []*Request {
	var out []*Request
	for _, r := range s.Requests() {
		if isMessage(r) && (match == nil || match(r)) {
			out = append(out, r)
		}
	}
	return out
}

// Wait returns the first request, past or future, that matches, or the error of ctx if none came.
func (s *Server) Wait(ctx context.Context, match Match) (*Request, error) {
	for next := 0; ; {
		s.mu.Lock()
		seen, news := s.requests, s.changed
		s.mu.Unlock()
		for ; next < len(seen); next++ {
			if match(seen[next]) {
				return seen[next], nil
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a request (%d came, none matched): %w", len(seen), context.Cause(ctx))
		}
	}
}

// Idle waits until no message request is in flight: each was answered, or its client is gone. It
// returns the error of ctx if that does not happen.
func (s *Server) Idle(ctx context.Context) error {
	for {
		s.mu.Lock()
		n, news := s.inFlight, s.changed
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of %d requests: %w", n, context.Cause(ctx))
		}
	}
}

// Peak returns the highest number of message requests in flight at once.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Charged returns the sum of the server's charges by the script's prices: the input with
// message_start, the rest with message_delta. Errors cost nothing. A model without a price is a
// fault of the script.
func (s *Server) Charged() budget.USD {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pico int64
	for _, c := range s.charges {
		price, ok := s.playback.script.Prices.Of(c.model)
		if !ok {
			s.playback.addErrorf("no price for model %q", c.model)
		}
		pico += price.pico(c.usage)
	}
	return round(pico)
}

// ServeHTTP answers one request of the CLI.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client left while sending
	}
	r := &Request{Time: time.Now(), Method: hr.Method, Path: hr.URL.RequestURI(), Header: hr.Header, Body: body}
	message := isMessage(r)
	s.addRequest(r, message)
	if message {
		defer s.requestDone()
	}
	switch {
	case message:
		s.message(hr.Context(), w, r)
	case r.Method == http.MethodPost && path(r) == "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, object{"input_tokens": len(body) / 4})
	default:
		writeError(w, http.StatusNotFound, "no such endpoint here")
	}
}

func (s *Server) addRequest(r *Request, message bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Index = len(s.requests)
	s.requests = append(s.requests, r)
	if message {
		s.inFlight++
		s.peak = max(s.peak, s.inFlight)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) requestDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) charge(model string, u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charges = append(s.charges, charge{model, u})
}

// message plays the script's next step for r.
func (s *Server) message(ctx context.Context, w http.ResponseWriter, r *Request) {
	if err := r.Err(); err != nil {
		s.playback.addErrorf("request %d: body is not a Messages request: %v", r.Index, err)
		writeError(w, http.StatusBadRequest, "unreadable body")
		return
	}
	reply, ok := s.playback.next(r)
	if !ok {
		writeError(w, http.StatusBadRequest, "the script has no reply for this request")
		return
	}
	if reply.Compute != nil {
		made := reply.Compute(r)
		if made.WaitFor == nil {
			made.WaitFor, made.After = reply.WaitFor, reply.After
		}
		reply = made
	}
	if !s.pause(ctx, reply.Delay) {
		return
	}
	if reply.After == 0 && !s.waitLatch(ctx, reply) {
		panic(http.ErrAbortHandler)
	}
	for k, v := range reply.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Request-Id", fmt.Sprintf("req_%04d", r.Index))
	if reply.Status != 0 && reply.Status != http.StatusOK {
		writeError(w, reply.Status, reply.Message)
		return
	}
	a := resolveReply(reply, r)
	if !r.Streaming() {
		s.charge(a.model, a.usage)
		writeJSON(w, http.StatusOK, a.message(a.blocks, a.stop, a.usage))
		return
	}
	s.stream(ctx, w, a, reply)
}

func (s *Server) stream(ctx context.Context, w http.ResponseWriter, a resolvedReply, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	for i, e := range a.events() {
		if i > 0 && i == reply.After && !s.waitLatch(ctx, reply) {
			panic(http.ErrAbortHandler)
		}
		if e.write(w) != nil {
			return // the client left
		}
		switch e.name {
		case "message_start":
			s.charge(a.model, a.startUsage())
		case "message_delta":
			rest := a.usage
			s.charge(a.model, Usage{Output: rest.Output - a.startUsage().Output, Geo: rest.Geo})
		}
	}
}

// waitLatch waits at the reply's gate. It returns false if the connection must be cut: the caller then
// panics with ErrAbortHandler, with which net/http closes a connection without an orderly end, as
// a broken network does.
func (s *Server) waitLatch(ctx context.Context, reply Reply) bool {
	if reply.WaitFor != nil {
		select {
		case <-reply.WaitFor.opened:
		case <-ctx.Done():
			return false
		case <-s.closing:
			return false
		}
	}
	return !reply.Cut
}

func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

func isMessage(r *Request) bool { return r.Method == http.MethodPost && path(r) == "/v1/messages" }

func path(r *Request) string { p, _, _ := strings.Cut(r.Path, "?"); return p }

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"type": "error", "error": object{"type": errorType(status), "message": message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client left
}
