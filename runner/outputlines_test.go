package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A JSON array is a list as it is; other text is the list of its lines.
func TestListOfLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\n\n b \"\n": `["a"," b \""]`, "": `[]`, "null": `["null"]`, `[1, "a"]`: `[1, "a"]`, "[1\n2]": `["[1","2]"]`,
	} {
		if got, err := listOfLines([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"a\nb\xe9\n": `line 2 of the list, "b\xe9", is not UTF-8`,
		"[\"\xe9\"]": "line 1 of the list"} {
		if got, err := listOfLines([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}

// A value is kept once, and again only if its file is damaged. One that is missing or changed is not read.
func TestKeptValues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	value := []byte(`"` + string(bytes.Repeat([]byte("x"), inlineOutput)) + `"`)
	o, err := keepOutput(dir, value)
	must(t, err)
	if got, err := o.Read(dir); err != nil || !bytes.Equal(got, value) || o.Value != nil || o.Size != len(value) {
		t.Errorf("%+v: %.20q, %v", o, got, err)
	}
	path, err := KeepFile(dir, value)
	must(t, err)
	if path != filepath.Join(dir, o.Digest+".json") {
		t.Errorf("kept at %s", path)
	}
	first, err := os.Stat(path)
	must(t, err)
	for _, damaged := range []bool{false, true} {
		if damaged {
			must(t, os.Truncate(path, 1))
			if got, err := o.Read(dir); err == nil {
				t.Errorf("a damaged file is %.20q", got)
			}
		}
		_, err := KeepFile(dir, value)
		must(t, err)
		if st, err := os.Stat(path); err != nil || os.SameFile(first, st) == damaged || st.Size() != first.Size() ||
			st.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("damaged %v: %v, %v", damaged, st, err)
		}
	}
	must(t, os.Remove(path))
	if _, err := o.Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if o, err := keepOutput("", value); err != nil || !bytes.Equal(o.Value, value) || o.Digest != "" {
		t.Errorf("without a folder: %+v, %v", o, err)
	}
	if o, err := keepOutput(dir, value[:inlineOutput]); err != nil || o.Digest != "" {
		t.Errorf("a small one: %+v, %v", o, err)
	}
	for _, none := range []string{filepath.Join(os.DevNull, "x"), "/proc/self/fd"} { // the last one takes no files
		if _, err := keepOutput(none, value); err == nil {
			t.Errorf("kept in %s", none)
		}
	}
	if open := openIn(dir); open != nil {
		t.Errorf("open are %q", open)
	}
}

// A value whose place is taken is not kept, and leaves no file.
func TestKeepFileInATakenPlace(t *testing.T) {
	t.Parallel()
	dir, value := t.TempDir(), []byte("large")
	sum := sha256.Sum256(value)
	must(t, os.Mkdir(outputFile(dir, hex.EncodeToString(sum[:])), 0o700))
	if path, err := KeepFile(dir, value); err == nil || path != "" {
		t.Errorf("kept as %q: %v", path, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// A file that a killed wavex was keeping is removed, and no other.
func TestRemoveUnfinished(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outputs")
	must(t, RemoveUnfinished(dir)) // there is none
	path, err := KeepFile(dir, []byte("whole"))
	must(t, err)
	for _, name := range []string{".next-1", ".next-23"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("ha"), 0o600))
	}
	must(t, RemoveUnfinished(dir))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(path) {
		t.Errorf("%v, %v", left, err)
	}
	if err := RemoveUnfinished(path); err == nil {
		t.Error("a file is no folder")
	}
}

// Attempts that end at the same moment with the same large output keep it together.
func TestKeptTogether(t *testing.T) {
	t.Parallel()
	value := bytes.Repeat([]byte("x"), inlineOutput*8)
	for range 20 {
		dir, errs := filepath.Join(t.TempDir(), "new"), make(chan error)
		for range 8 {
			go func() {
				path, err := KeepFile(dir, value)
				if err == nil {
					var got []byte
					if got, err = os.ReadFile(path); err == nil && !bytes.Equal(got, value) {
						err = fmt.Errorf("%d bytes of %d", len(got), len(value))
					}
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("there are %v, %v", files, err)
		}
	}
}
