package fakeapi_test

import (
	"testing"

	"wavex/internal/fakeapi"
)

// Every input decodes to a request or an error, and every method of the request returns.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(body(true, "a", "b")))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text"}]}]}]}`))
	f.Add([]byte(`{"system":[null],"messages":[null,{"role":"user"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &fakeapi.Request{Body: data}
		if results := r.ToolResults(); r.Err() == nil && len(results) > 0 && r.FirstUser() != "" && r.Users() == "" {
			t.Errorf("a first user text without user texts: %s", data)
		}
		if r.Turn() < 0 || len(r.LastUser()) > len(r.Users()) {
			t.Errorf("turn %d, last %q of %q", r.Turn(), r.LastUser(), r.Users())
		}
		_, _, _ = r.Dir(), r.Session(), r.Tools()
	})
}
