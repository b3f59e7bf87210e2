package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"wavex/internal/loop"

	"pgregory.net/rapid"
)

// fill writes n records, each made durable, and returns the file's content.
func fill(t *testing.T, path string, n int) []byte {
	t.Helper()
	l, old, err := Open(path)
	if err != nil || len(old) != 0 {
		t.Fatalf("opening a new journal: %v, %d records", err, len(old))
	}
	for i := range n {
		must(t, l.Append(fmt.Appendf(nil, `{"n":%d,"text":"ü\n"}`, i)))
		must(t, l.Sync())
	}
	must(t, l.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func TestRecordsAreReadBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	fill(t, path, 3)
	records, err := Read(path)
	if err != nil || len(records) != 3 || string(records[2]) != `{"n":2,"text":"ü\n"}` {
		t.Fatalf("read %q, %v", records, err)
	}
	l, records, err := Open(path)
	if err != nil || len(records) != 3 {
		t.Fatalf("opened with %d records, %v", len(records), err)
	}
	must(t, l.Append([]byte(`{"n":3}`)))
	must(t, errors.Join(l.Sync(), l.Close()))
	if records, _ := Read(path); len(records) != 4 {
		t.Fatalf("%d records after appending to an old journal", len(records))
	}
	if none, err := Read(path + "-not-there"); err != nil || none != nil {
		t.Fatalf("a journal that is not there: %q, %v", none, err)
	}
}

// TestCutAtEveryByte: after a cut at any byte, all records before it are read, the torn rest is
// not, and the journal can be written again.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := fill(t, filepath.Join(dir, "whole"), 4)
	path := filepath.Join(dir, "cut")
	for n := range len(data) + 1 {
		must(t, os.WriteFile(path, data[:n], 0o600))
		want := max(0, bytes.Count(data[:n], []byte("\n"))-1)
		l, records, err := Open(path)
		if err != nil || len(records) != want {
			t.Fatalf("cut at byte %d: %d records, want %d, %v", n, len(records), want, err)
		}
		must(t, errors.Join(l.Append([]byte(`{"after":true}`)), l.Sync(), l.Close()))
		if records, err := Read(path); err != nil || len(records) != want+1 {
			t.Fatalf("cut at byte %d and continued: %d records, %v", n, len(records), err)
		}
	}
}

// TestDamageIsNamed: a flipped bit anywhere but in the last newline is detected with its line, and
// the file is not changed.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := fill(t, filepath.Join(dir, "whole"), 4)
	path := filepath.Join(dir, "damaged")
	for n := range len(data) - 1 {
		if data[n] == '\n' {
			continue // joins two lines; covered by the checksum of the joined one
		}
		bad := bytes.Clone(data)
		bad[n] ^= 0x20 // changes the case of a letter
		if bad[n] == '\n' {
			continue
		}
		must(t, os.WriteFile(path, bad, 0o600))
		_, _, err := Open(path)
		var corrupt *CorruptError
		var version *VersionError
		line := 1 + bytes.Count(data[:n], []byte("\n"))
		switch {
		case errors.As(err, &version) && line == 1:
		case errors.As(err, &corrupt) && corrupt.Line == line:
		default:
			t.Fatalf("byte %d (line %d) flipped: %v", n, line, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, bad) {
			t.Fatalf("byte %d flipped: opening changed the file", n)
		}
	}
}

// A file that begins with zeros or with other bytes is a damaged journal. It stays as it is.
func TestATornFirstLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	for text, damaged := range map[string]bool{
		"": false, header[:9]: false, header + "1": false, "\x00": true, strings.Repeat("\x00", 600<<10): true,
		"\x00" + header + "1}\n": true, "text": true, header[:9] + "\x00": true,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, read := Read(path)
		l, _, opened := Open(path)
		for _, err := range []error{read, opened} {
			var corrupt *CorruptError
			if errors.As(err, &corrupt) != damaged || damaged && (corrupt.Line != 1 || corrupt.Path != path) {
				t.Errorf("%.20q: %v", text, err)
			}
		}
		if l != nil {
			_ = l.Close() // a new journal
		} else if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%.20q was changed to %.20q, %v", text, now, err)
		}
	}
}

func TestNewerVersionIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	text := header + "2}\n" + `{"from":"the future"}` + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	_, _, err := Open(path)
	var version *VersionError
	if !errors.As(err, &version) || version.Found != "2" {
		t.Fatalf("opened with %v", err)
	}
	if now, _ := os.ReadFile(path); string(now) != text {
		t.Fatal("a journal of another version was changed")
	}
}

func TestOnlyObjectsOnOneLine(t *testing.T) {
	t.Parallel()
	l, _, err := Open(filepath.Join(t.TempDir(), "j"))
	must(t, err)
	defer l.Close()
	for _, bad := range []string{"", "{}", "[1]", "{\"a\":\n1}", "text", `{"a":1`, `"a":1}`} {
		if l.Append([]byte(bad)) == nil {
			t.Errorf("%q was taken as a record", bad)
		}
	}
}

func TestWriteErrorStopsTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "full") // not the device itself, which a fault of restore would replace
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Logf("no links here: %v", err)
		return
	}
	full, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Logf("no /dev/full here: %v", err)
		return
	}
	known, err := full.Stat()
	must(t, err)
	l := &Log{path: full.Name(), f: full, info: known}
	defer l.Close()
	must(t, l.Append([]byte(`{"a":1}`)))
	var write *WriteError
	if err := l.Sync(); !errors.As(err, &write) {
		t.Fatalf("a full disk gave %v", err)
	}
	if err := l.Append([]byte(`{"a":2}`)); !errors.As(err, &write) {
		t.Fatalf("after the error, Append gave %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := Holder{PID: 4711, Host: "here", Run: "r", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	l, err := TryLock(loop.Dir(dir), h)
	must(t, err)
	_, err = TryLock(loop.Dir(dir), Holder{PID: 1})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder != h || !strings.Contains(err.Error(), "4711") {
		t.Fatalf("the second lock gave %v", err)
	}
	must(t, l.Unlock())
	again, err := TryLock(loop.Dir(dir), Holder{PID: 1})
	if err != nil {
		t.Fatalf("a lock that was given back: %v", err)
	}
	_ = again.Unlock()
}

// TestGroupCommit: appended records are not in the file before a sync; one sync writes all.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "j")
		l, _, err := Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		synced, pending := 0, 0
		for _, sync := range rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(rt, "steps") {
			if sync {
				if err := l.Sync(); err != nil {
					rt.Fatal(err)
				}
				synced, pending = synced+pending, 0
			} else {
				if err := l.Append([]byte(`{"x":1}`)); err != nil {
					rt.Fatal(err)
				}
				pending++
			}
			if got, err := Read(path); err != nil || len(got) != synced {
				rt.Fatalf("%d records on disk, want %d, %v", len(got), synced, err)
			}
		}
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(header + "1}\n{\"a\":1,\"crc\":\"00000000\"}\n"))
	good, _ := encodeLine(nil, []byte(`{"a":1}`))
	f.Add(append([]byte(header+"1}\n"), good...))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "j")
		must(t, os.WriteFile(path, data, 0o600))
		records, err := Read(path)
		if err != nil {
			return
		}
		// Readable records stay readable after the journal is opened for writing.
		l, again, err := Open(path)
		if err != nil || len(again) != len(records) {
			t.Fatalf("read %d records, opened %d, %v", len(records), len(again), err)
		}
		must(t, errors.Join(l.Append([]byte(`{"z":1}`)), l.Sync(), l.Close()))
		if more, err := Read(path); err != nil || len(more) != len(records)+1 {
			t.Fatalf("%d records and one more gave %d, %v", len(records), len(more), err)
		}
	})
}

// Last returns the last record of Read after any cut of the tail, and reads no more than its limit.
func TestLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	whole := fill(t, path, 3)
	for cut := range len(whole) {
		must(t, os.WriteFile(path, whole[:len(whole)-cut], 0o600))
		records, err := Read(path)
		must(t, err)
		last, err := Last(path, 1<<20)
		must(t, err)
		if len(records) == 0 && last != nil || len(records) > 0 && !bytes.Equal(last, records[len(records)-1]) {
			t.Fatalf("%d bytes short: last is %q of %q", cut, last, records)
		}
	}
	must(t, os.WriteFile(path, whole, 0o600))
	line := int64(len(whole) - bytes.LastIndexByte(whole[:len(whole)-1], '\n') - 1)
	if rec, err := Last(path, line); rec != nil || err != nil {
		t.Errorf("from %d bytes: %q, %v", line, rec, err)
	}
	if rec, err := Last(path, line+1); string(rec) != `{"n":2,"text":"ü\n"}` || err != nil {
		t.Errorf("from %d bytes: %q, %v", line+1, rec, err)
	}
	if rec, err := Last(path+"x", 10); rec != nil || err != nil {
		t.Errorf("without a journal: %q, %v", rec, err)
	}
	whole[len(whole)-5] ^= 1
	must(t, os.WriteFile(path, whole, 0o600))
	if rec, err := Last(path, 1<<20); err == nil {
		t.Errorf("a damaged record: %q", rec)
	}
}

// Written records are visible to other readers, also after a kill. A sync makes them durable, and
// an error removes those that are not durable.
func TestWrittenBeforeDurable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	l, _, err := Open(path)
	must(t, err)
	count := func() int {
		records, err := Read(path)
		must(t, err)
		return len(records)
	}
	if err := errors.Join(l.Append([]byte(`{"n":1}`)), l.Sync(), l.Append([]byte(`{"n":2}`))); err != nil || count() != 1 {
		t.Fatalf("%v, %d records", err, count())
	}
	if err := l.Write(); err != nil || count() != 2 || l.synced == l.size {
		t.Fatalf("%v, %d records, %d of %d bytes durable", err, count(), l.synced, l.size)
	}
	if err := l.Sync(); err != nil || l.synced != l.size {
		t.Fatalf("%v, %d of %d bytes durable", err, l.synced, l.size)
	}
	must(t, errors.Join(l.Append([]byte(`{"n":3}`)), l.Write()))
	if err := l.fail(errors.New("the disk is gone")); err == nil || count() != 2 {
		t.Errorf("%v, %d records", err, count())
	}
	var write *WriteError
	if err := l.Write(); !errors.As(err, &write) {
		t.Errorf("written after an error: %v", err)
	}
	_ = l.Close()
}

// failingReader returns the data and then an error, as a failing disk does.
type failingReader struct {
	*bytes.Reader
	err error
}

func (f failingReader) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// A read error after any byte is returned as such: it is not the end of the journal.
func TestReadErrorIsNotTheEnd(t *testing.T) {
	t.Parallel()
	data := fill(t, filepath.Join(t.TempDir(), "j"), 2)
	broken := errors.New("input/output error")
	for n := range len(data) + 1 {
		f := Follow("j")
		if _, err := f.read(failingReader{bytes.NewReader(data[:n]), broken}); !errors.Is(err, broken) {
			t.Fatalf("read error after byte %d: %v", n, err)
		}
		if f.at != 0 {
			t.Fatalf("read error after byte %d: the follower is at %d", n, f.at)
		}
	}
	f := Follow("j")
	f.at = -1
	if _, err := f.read(bytes.NewReader(data)); err == nil {
		t.Error("a place that cannot be sought is no error")
	}
	if _, err := Read(filepath.Join("journal_test.go", "j")); err == nil && runtime.GOOS != "windows" {
		t.Error("a journal inside a file is no error")
	}
}

// Open returns a read error before it writes anything: neither the header nor a cut.
func TestOpenReturnsReadErrors(t *testing.T) {
	t.Parallel()
	const failing = "/proc/self/mem" // a regular file whose first page cannot be read
	if _, err := os.ReadFile(failing); !errors.Is(err, syscall.EIO) {
		t.Logf("no file here that fails when it is read: %v", err)
		return
	}
	l, records, err := Open(failing)
	var write *WriteError
	if !errors.Is(err, syscall.EIO) || errors.As(err, &write) || l != nil || records != nil {
		t.Errorf("Open = %v, %q, %v; want the read error", l, records, err)
	}
}

// A sync that fails is an error, and so is one whose records cannot be written beside others that are
// not durable yet.
func TestSyncErrors(t *testing.T) {
	t.Parallel()
	var write *WriteError
	path := filepath.Join(t.TempDir(), "j")
	l, _, err := Open(path)
	must(t, err)
	defer l.Close()
	err = errors.Join(l.Append([]byte(`{"a":1}`)), l.Write(), l.f.Close(), l.Append([]byte(`{"a":2}`)))
	must(t, err)
	if err := l.Sync(); !errors.As(err, &write) {
		t.Errorf("not written: %v", err)
	}
	null := filepath.Join(t.TempDir(), "null") // takes each write, and fails to sync
	if err := os.Symlink("/dev/null", null); err != nil || runtime.GOOS != "linux" {
		t.Logf("no /dev/null here: %v", err)
		return
	}
	f, err := os.OpenFile(null, os.O_WRONLY, 0)
	must(t, err)
	info, err := f.Stat()
	must(t, err)
	lost := &Log{path: null, f: f, info: info}
	defer lost.Close()
	must(t, errors.Join(lost.Append([]byte(`{"a":1}`)), lost.Write()))
	if err := lost.Sync(); !errors.As(err, &write) {
		t.Errorf("not synced: %v", err)
	}
}

// Last returns a read error: it is not a journal without records.
func TestLastReturnsReadErrors(t *testing.T) {
	t.Parallel()
	const failing = "/proc/self/mem" // as above
	if _, err := os.ReadFile(failing); !errors.Is(err, syscall.EIO) {
		t.Logf("no file here that fails when it is read: %v", err)
		return
	}
	if rec, err := Last(failing, 1<<20); !errors.Is(err, syscall.EIO) || rec != nil {
		t.Errorf("Last = %q, %v; want the read error", rec, err)
	}
}

// A journal that cannot be created is a write error, which names its file.
func TestNoPlaceForAJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "j")
	var write *WriteError
	if l, _, err := Open(path); l != nil || !errors.As(err, &write) || write.Path != path ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened with %v", err)
	}
}

// Valid finds a forged line anywhere, and accepts each part of a journal that begins with a record.
func TestValid(t *testing.T) {
	t.Parallel()
	whole := fill(t, filepath.Join(t.TempDir(), "j"), 3)
	_, records, _ := bytes.Cut(whole, []byte("\n"))
	for n := range len(records) + 1 {
		if !Valid(records[:n]) {
			t.Fatalf("the first %d bytes are not valid", n)
		}
	}
	lines := bytes.SplitAfter(records, []byte("\n"))
	for i := range 3 {
		forged := slices.Clone(lines)
		forged[i] = []byte(`{"n":9,"text":"forged","crc":"00000000"}` + "\n")
		if Valid(bytes.Join(forged, nil)) {
			t.Errorf("line %d is forged and valid", i+1)
		}
	}
}

// A journal in a folder that is not there is a write error.
func TestOpenReturnsWriteErrors(t *testing.T) {
	t.Parallel()
	var write *WriteError
	if l, _, err := Open(filepath.Join(t.TempDir(), "none", "j")); !errors.As(err, &write) || l != nil {
		t.Errorf("Open = %v, %v", l, err)
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
