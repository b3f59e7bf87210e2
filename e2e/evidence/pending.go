package evidence

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// This file holds the list of pending cases.

// Pending holds the names of the cases that wavex does not pass yet.
type Pending map[string]bool

// LoadPending reads a list of names, a line each; "#" begins a comment.
func LoadPending(t testing.TB, path string) Pending {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := Pending{}
	for line := range bytes.Lines(data) {
		name, _, _ := strings.Cut(string(line), "#")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if p[name] {
			t.Errorf("%s: %s is listed twice", path, name)
		}
		p[name] = true
	}
	return p
}

// Settle fails a case with faults that is not pending, and one without faults that is.
func (p Pending) Settle(t testing.TB, name string, faults []string) {
	t.Helper()
	switch {
	case p[name] && len(faults) == 0:
		t.Errorf("%s passes: take it off pending.txt", name)
	case p[name]:
		t.Logf("%s is pending: %s", name, strings.Join(faults, "; "))
	case len(faults) > 0:
		t.Errorf("%s: %s", name, strings.Join(faults, "; "))
	}
}
