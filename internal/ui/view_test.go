package ui

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wavex/internal/report/reporttest"
	"wavex/scheduler"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// telling is one of the stories of reporttest.
type telling func(testing.TB, func(scheduler.Event, *scheduler.State)) *reporttest.Story

var stories = map[string]telling{
	"mixed": reporttest.Mixed, "complete": reporttest.Complete, "paused": reporttest.Paused, "hostile": reporttest.Hostile, "reviewed": reporttest.Reviewed,
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// shown is what a view makes of a story.
func shown(t *testing.T, tell telling, open func(*buffer) View) string {
	t.Helper()
	var out buffer
	v := open(&out)
	tell(t, v.Event)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it)\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}
