package journal

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"wavex/internal/loop"
)

// Owner names a process only while it holds the lock on this machine and, if the system names the
// holder, only if it is that process.
func TestOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if pid, err := LockOwner(loop.Dir(dir)); pid != 0 || err != nil {
		t.Fatalf("of nobody: %d, %v", pid, err)
	}
	host, err := os.Hostname()
	must(t, err)
	lock, err := TryLock(loop.Dir(dir), Holder{PID: os.Getpid(), Host: host, Since: time.Now()})
	must(t, err)
	if pid, err := LockOwner(loop.Dir(dir)); pid != os.Getpid() || err != nil {
		t.Errorf("of ours: %d, %v", pid, err)
	}
	for text, want := range map[string]string{
		`{"pid":1,"host":"elsewhere"}`:    "not on this machine",
		`{}`:                              "does not say",
		`{"pid":1,"host":"` + host + `"}`: "which holder.json names",
	} {
		if strings.Contains(text, host) && runtime.GOOS != "linux" {
			continue // only Linux names the holder of a lock
		}
		must(t, os.WriteFile(filepath.Join(dir, "holder.json"), []byte(text), 0o600))
		if pid, err := LockOwner(loop.Dir(dir)); pid != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v", text, pid, err)
		}
	}
	must(t, lock.Unlock())
	if pid, err := LockOwner(loop.Dir(dir)); pid != 0 || err != nil {
		t.Errorf("afterwards: %d, %v", pid, err)
	}
}
