package scratch

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount puts a directory on a tmpfs of its own until the end of the test.
func Mount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("scratch", dir, "tmpfs", flags, options); err != nil {
		t.Fatalf("mounting a tmpfs with %q: %v", options, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
}

// Remount changes the options of a tmpfs.
func Remount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("scratch", dir, "tmpfs", unix.MS_REMOUNT|flags, options); err != nil {
		t.Fatalf("remounting with %q: %v", options, err)
	}
}
