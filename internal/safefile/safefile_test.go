package safefile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	testrepo.Files{"file": "hello", "empty": "", "folder/file": "x"}.Write(t, dir)
	testrepo.Must(t, os.Symlink("file", at("link")))
	testrepo.Must(t, os.Symlink("nowhere", at("broken")))
	testrepo.Must(t, os.WriteFile(at("huge"), nil, 0o600))
	testrepo.Must(t, os.Truncate(at("huge"), 1<<33)) // sparse
	for name, c := range map[string]struct {
		most  int64
		text  string
		head  string
		wrong error
	}{
		"file": {5, "hello", "hello", nil}, "empty": {0, "", "", nil}, "link": {9, "hello", "hello", nil},
		"folder": {9, "", "", safefile.ErrNotRegular},
		"none":   {9, "", "", fs.ErrNotExist}, "broken": {9, "", "", fs.ErrNotExist}, "huge": {3, "", "\x00\x00\x00",
			safefile.ErrTooLarge},
	} {
		text, err := safefile.Read(at(name), c.most)
		var path *fs.PathError
		if string(text) != c.text || !errors.Is(err, c.wrong) || err != nil && !errors.As(err, &path) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if errors.Is(c.wrong, safefile.ErrTooLarge) {
			c.wrong = nil
		}
		if text, err := safefile.ReadHead(at(name), c.most); string(text) != c.head || !errors.Is(err, c.wrong) {
			t.Errorf("the head of %s: %q, %v", name, text, err)
		}
	}
	if text, err := safefile.Read(at("file"), 4); text != nil || !errors.Is(err, safefile.ErrTooLarge) {
		t.Errorf("one byte too long: %q, %v", text, err)
	}
}

// A file may be longer than its reported size: the files of /proc grow while they are read.
func TestReadBoundsWhatGrows(t *testing.T) {
	t.Parallel()
	const grows = "/proc/self/maps"
	if st, err := os.Stat(grows); err != nil || st.Size() != 0 {
		return // this system has no such file
	}
	if text, err := safefile.Read(grows, 10); text != nil || !errors.Is(err, safefile.ErrTooLarge) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOpenIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"in/folder/file": "hello", "secret": "secret"}.Write(t, dir)
	in := filepath.Join(dir, "in")
	for name, to := range map[string]string{"inside": "folder/file", "outside": "../secret"} {
		testrepo.Must(t, os.Symlink(to, filepath.Join(in, name)))
	}
	for name, there := range map[string]bool{"folder/file": true, "inside": true, "outside": false, "../secret": false,
		"folder": false, "none": false} {
		f, err := safefile.OpenIn(in, name)
		if (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if text, err := io.ReadAll(f); string(text) != "hello" || err != nil {
				t.Errorf("%s: %q, %v", name, text, err)
			}
			testrepo.Must(t, f.Close())
		}
	}
	if _, err := safefile.OpenIn(filepath.Join(dir, "none"), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no folder: %v", err)
	}
}

// The name of a file can be made durable in a folder that is there.
func TestSyncDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Must(t, safefile.SyncDir(dir))
	if err := safefile.SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows" {
		t.Errorf("in a folder that is not there: %v", err)
	}
}
