package wary_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
	"wavex/internal/wary"
)

func TestMain(m *testing.M) { roomtest.Main(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	roomtest.Files{"file": "hello", "empty": "", "folder/file": "x"}.Write(t, dir)
	roomtest.Must(t, os.Symlink("file", at("link")))
	roomtest.Must(t, os.Symlink("nowhere", at("broken")))
	roomtest.Must(t, os.WriteFile(at("huge"), nil, 0o600))
	roomtest.Must(t, os.Truncate(at("huge"), 1<<33)) // sparse
	for name, c := range map[string]struct {
		most  int64
		text  string
		head  string
		wrong error
	}{
		"file": {5, "hello", "hello", nil}, "empty": {0, "", "", nil}, "link": {9, "hello", "hello", nil},
		"folder": {9, "", "", wary.ErrNotRegular},
		"none":   {9, "", "", fs.ErrNotExist}, "broken": {9, "", "", fs.ErrNotExist}, "huge": {3, "", "\x00\x00\x00",
			wary.ErrTooLarge},
	} {
		text, err := wary.Read(at(name), c.most)
		var path *fs.PathError
		if string(text) != c.text || !errors.Is(err, c.wrong) || err != nil && !errors.As(err, &path) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if errors.Is(c.wrong, wary.ErrTooLarge) {
			c.wrong = nil
		}
		if text, err := wary.ReadHead(at(name), c.most); string(text) != c.head || !errors.Is(err, c.wrong) {
			t.Errorf("the head of %s: %q, %v", name, text, err)
		}
	}
	if text, err := wary.Read(at("file"), 4); text != nil || !errors.Is(err, wary.ErrTooLarge) {
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
	if text, err := wary.Read(grows, 10); text != nil || !errors.Is(err, wary.ErrTooLarge) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOpenIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Files{"in/folder/file": "hello", "secret": "secret"}.Write(t, dir)
	in := filepath.Join(dir, "in")
	for name, to := range map[string]string{"inside": "folder/file", "outside": "../secret"} {
		roomtest.Must(t, os.Symlink(to, filepath.Join(in, name)))
	}
	for name, there := range map[string]bool{"folder/file": true, "inside": true, "outside": false, "../secret": false,
		"folder": false, "none": false} {
		f, err := wary.OpenIn(in, name)
		if (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if text, err := io.ReadAll(f); string(text) != "hello" || err != nil {
				t.Errorf("%s: %q, %v", name, text, err)
			}
			roomtest.Must(t, f.Close())
		}
	}
	if _, err := wary.OpenIn(filepath.Join(dir, "none"), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no folder: %v", err)
	}
}
