//go:build unix

package cmd_test

// Script commands for the messages that wavex sends over the network.

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// catch VAR FILE FAILURES starts a server on loopback that answers the first FAILURES requests with
// 500, then appends each body and its signature to FILE. It sets the variable VAR to its URL.
func catch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: catch VAR FILE FAILURES")
	}
	failures, err := strconv.Atoi(args[2])
	ts.Check(err)
	path := ts.MkAbs(args[1])
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		b, err := io.ReadAll(q.Body)
		if failures > 0 || err != nil {
			failures--
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(string(b) + "\n" + q.Header.Get("X-Wavex-Signature") + "\n")
			_ = f.Close()
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}
