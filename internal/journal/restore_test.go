package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"wavex/internal/loop"
)

// If another process changes the journal's file while it is written, no record is lost silently:
// either all are in the file afterwards, or the log reports an error and accepts no more.
func TestJournalChangedByOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm     func(path string) error
		restored int
		says     string // "": the file has every record
	}{
		"nobody":      {func(string) error { return nil }, 0, ""},
		"removed":     {os.Remove, 1, ""},
		"folder gone": {func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, 1, ""},
		"moved":       {func(path string) error { return os.Rename(path, path+".elsewhere") }, 1, ""},
		"replaced": {func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("mine\n"), 0o600))
		}, 1, ""},
		"written over":   {func(path string) error { return os.Rename(other(path), path) }, 1, ""},
		"lengthened":     {func(path string) error { return appendTo(path, "more\n{\"x\":1}\n") }, 1, ""},
		"cut":            {func(path string) error { return os.Truncate(path, 40) }, 1, ""},
		"cut to nothing": {func(path string) error { return os.Truncate(path, 0) }, 1, ""},
		"cut and lengthened": {func(path string) error {
			return errors.Join(os.Truncate(path, 0), os.Truncate(path, 1<<12))
		}, 1, ""},
		"overwritten":            {overwrite("X"), 1, ""},
		"overwritten with zeros": {overwrite("\x00"), 1, ""},
		"touched":                {func(path string) error { return os.Chtimes(path, time.Time{}, later) }, 0, ""},
		"its folder is a file": {func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		}, 0, "not a directory"},
		"its folder is a link to nothing": {func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.RemoveAll(dir), os.Symlink("nowhere", dir))
		}, 0, "another process changed or removed it, and it could not be written again"},
		"a folder": {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "loop", "journal.jsonl")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			l, _, err := Open(path)
			must(t, err)
			put := func(n int) error {
				return errors.Join(l.Append(fmt.Appendf(nil, `{"n":%d}`, n)), l.Sync())
			}
			must(t, put(1))
			must(t, c.harm(path))
			err = errors.Join(put(2), put(3))
			if l.Restored() != c.restored {
				t.Errorf("restored %d times, want %d", l.Restored(), c.restored)
			}
			if cerr := l.Close(); cerr != nil {
				t.Error(cerr)
			}
			if c.says != "" {
				var write *WriteError
				if !errors.As(err, &write) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("it says %v, want %q", err, c.says)
				}
				return
			}
			records, rerr := Read(path)
			if err != nil || rerr != nil || len(records) != 3 || string(records[2]) != `{"n":3}` {
				t.Errorf("%q on disk; written: %v, read: %v", records, err, rerr)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".journal-*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// A journal whose open file fails is neither cut, nor restored from a part of it, without an error.
func TestFaultsOfTheOpenFile(t *testing.T) {
	t.Parallel()
	closed := func(l *Log) { _ = l.f.Close() } // every later call fails
	prepare := func(l *Log) error { _, err := l.prepare(); return err }
	for name, c := range map[string]struct {
		harm []func(l *Log)
		do   func(l *Log) error
		want string
	}{
		"prepared":  {[]func(l *Log){closed}, prepare, "closed"},
		"read only": {[]func(l *Log){closed, func(l *Log) { l.f, _ = os.Open(l.path) }}, prepare, "writing "},
		"no header": {[]func(l *Log){func(l *Log) { _, l.writeErr = l.f.Truncate(0), errors.New("the disk is gone") }},
			prepare, "the disk is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("Windows does not remove open files")
			}
			l, _, err := Open(filepath.Join(t.TempDir(), "j"))
			must(t, err)
			for _, harm := range c.harm {
				harm(l)
			}
			if err := c.do(l); err == nil || !strings.Contains(err.Error(), c.want) || l.Restored() != 0 {
				t.Errorf("error %v, restored %d times", err, l.Restored())
			}
			_ = l.f.Close() // may be closed
			if open := openIn(filepath.Dir(l.path)); len(open) > 0 {
				t.Errorf("still open: %q", open)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(l.path), ".journal-*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// openIn returns the open files of this process below a folder, where the system lists them.
func openIn(dir string) (open []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if at, err := os.Readlink(fd); err == nil && strings.HasPrefix(at, dir+string(filepath.Separator)) {
			open = append(open, at)
		}
	}
	return open
}

// A journal that cannot be opened, and one that is closed, stay open nowhere.
func TestFilesAreClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	l, _, err := Open(path)
	must(t, err)
	err = errors.Join(l.Append([]byte(`{"a":1}`)), l.Sync(), os.Remove(path), l.Append([]byte(`{"a":2}`)), l.Sync())
	if err != nil || l.Restored() != 1 {
		t.Fatalf("restored %d times, %v", l.Restored(), err)
	}
	last, err := Last(path, 1<<10)
	records, _, ferr := Follow(path).Next()
	if err := errors.Join(err, ferr, l.Close()); err != nil || string(last) != `{"a":2}` || len(records) != 2 {
		t.Fatalf("last %q of %q, %v", last, records, err)
	}
	if open := openIn(filepath.Dir(path)); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
	var write *WriteError
	if err := errors.Join(l.Append([]byte(`{"a":3}`)), l.Write()); !errors.As(err, &write) {
		t.Errorf("written after it was closed: %v", err)
	}
	must(t, os.WriteFile(path, []byte("text\n"), 0o600))
	var bad *CorruptError
	if _, _, err := Open(path); !errors.As(err, &bad) || bad.Line != 1 {
		t.Errorf("opened a file that is no journal: %v", err)
	}
	if open := openIn(filepath.Dir(path)); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
}

// The errors name the file and say what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, err := range map[string]error{
		"/p/j has journal version 7; this wavex reads version 1: use the wavex that wrote it, or start over with --fresh " +
			"(which moves it aside)": &VersionError{"/p/j", "7"},
		"/p/j:3: torn: the journal is damaged; restore it from a copy, or start over with --fresh (which moves it " +
			"aside)": &CorruptError{"/p/j", 3, "torn"},
		"writing /p/j: closed":                &WriteError{"/p/j", errors.New("closed")},
		"/p/.loop is in use by another wavex": &LockedError{Dir: "/p/.loop"},
		"/p/.loop is in use by wavex process 12 on here since 2026-01-02T03:04:05Z; wait for it, or stop that " +
			"process": &LockedError{Dir: "/p/.loop", Holder: Holder{PID: 12, Host: "here", Since: since}},
		"/p is in use by another wavex whose .loop was removed, or locked by another program such as flock(1); wait for " +
			"it, or let that program lock another file": &LockedError{Dir: "/p/.loop", Holder: Holder{PID: 12}, Project: true},
	} {
		if got := err.Error(); got != want && runtime.GOOS != "windows" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Others do not read the journal, nor the file of the lock's holder.
func TestFilesAreOfTheirUser(t *testing.T) {
	t.Parallel()
	dir := loop.Dir(t.TempDir())
	l, _, err := Open(dir.Path(loop.Journal))
	must(t, err)
	lock, err := TryLock(dir, Holder{PID: 1})
	must(t, err)
	for _, path := range []string{dir.Path(loop.Journal), dir.Path(loop.LockHolder)} {
		if st, err := os.Stat(path); err != nil || st.Mode() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	if err := errors.Join(l.Close(), lock.Unlock()); err != nil {
		t.Error(err)
	}
}

// A lock whose holder cannot be written is not taken.
func TestALockNeedsItsHolder(t *testing.T) {
	t.Parallel()
	dir := loop.Dir(t.TempDir())
	holder := dir.Path(loop.LockHolder)
	must(t, os.MkdirAll(filepath.Join(holder, "full"), 0o700))
	if _, err := TryLock(dir, Holder{PID: 1}); err == nil {
		t.Fatal("taken without a holder")
	}
	must(t, os.RemoveAll(holder))
	l, err := TryLock(dir, Holder{PID: 1})
	must(t, err)
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	lock := dir.Path(loop.Lock)
	must(t, errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)))
	if pid, err := LockOwner(dir); err == nil || pid != 0 {
		t.Errorf("the lock is a folder: owner %d, %v", pid, err)
	}
	if err := CheckLock(loop.Dir(filepath.Join(string(dir), "missing", ".loop"))); err != nil {
		t.Errorf("no project, and a lock: %v", err)
	}
	project := projectLock(dir)
	if ok, err := project.TryLock(); !ok {
		t.Skipf("no lock of a directory here: %v", err)
	}
	var held *LockedError
	if _, err := TryLock(dir, Holder{PID: 2}); !errors.As(err, &held) || held.Project {
		t.Errorf("the lock is a folder, and the project is locked: %v", err)
	}
	if err := project.Unlock(); err != nil {
		t.Error(err)
	}
}

// other creates a file beside path, like sed -i.
func other(path string) string {
	at := path + ".other"
	_ = os.WriteFile(at, []byte("{\"wavex_journal\":1}\n"), 0o600) // if it fails, the rename fails the test
	return at
}

// later is a time of change that no file of a test has by itself.
var later = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// overwrite returns a function that replaces each byte of a file. Its time of change differs also where the system's
// clock for files is coarse.
func overwrite(by string) func(path string) error {
	return func(path string) error {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(strings.Repeat(by, int(st.Size())))
		return errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, later))
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// A program that locks the project's directory, such as flock(1), is not taken for the wavex that ended there.
func TestADirectoryLockedByOthers(t *testing.T) {
	t.Parallel()
	dir := loop.Dir(filepath.Join(t.TempDir(), ".loop"))
	must(t, os.Mkdir(string(dir), 0o700))
	l, err := TryLock(dir, Holder{PID: 1})
	must(t, err)
	var held *LockedError
	if _, err := TryLock(dir, Holder{PID: 2}); !errors.As(err, &held) || held.Project || held.Holder.PID != 1 {
		t.Errorf("beside a wavex: %v", err)
	}
	must(t, l.Unlock())
	other := projectLock(dir)
	switch ok, err := other.TryLock(); {
	case !ok && runtime.GOOS == "windows":
		t.Skip("Windows locks no directory")
	case !ok:
		t.Fatal(err)
	}
	if _, err := TryLock(dir, Holder{PID: 2}); !errors.As(err, &held) || !held.Project {
		t.Errorf("beside another program: %v", err)
	}
	must(t, other.Unlock())
}

func TestALockCanBeLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := TryLock(loop.Dir(dir), Holder{PID: 1})
	if err != nil || l.Lost() {
		t.Fatalf("taken: %v, and lost: %v", err, l.Lost())
	}
	must(t, os.Remove(filepath.Join(dir, "lock")))
	if !l.Lost() {
		t.Error("a lock whose file is gone is not lost")
	}
	var held *LockedError
	if _, err := TryLock(loop.Dir(dir), Holder{PID: 2}); !errors.As(err, &held) || !Locked(loop.Dir(dir)) {
		t.Errorf("the file is gone, and the project is free: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused wavex made the file: %v", err)
	}
	must(t, l.project.Unlock())
	again, err := TryLock(loop.Dir(dir), Holder{PID: 2})
	must(t, err)
	if !l.Lost() || again.Lost() {
		t.Error("the lock that counts is the one whose file is there")
	}
	if err := l.Restore(); !errors.As(err, &held) || held.Holder.PID != 2 {
		t.Errorf("kept beside another: %v", err)
	}
	must(t, again.Unlock())
	if Locked(loop.Dir(dir)) {
		t.Error("locked, and no process holds it")
	}
	for _, gone := range []string{"lock", "holder.json"} {
		must(t, os.Remove(filepath.Join(dir, gone)))
		if err := l.Restore(); err != nil || l.Lost() {
			t.Fatalf("%s: kept: %v, and lost: %v", gone, err, l.Lost())
		}
		if _, err := TryLock(loop.Dir(dir), Holder{PID: 3}); !errors.As(err, &held) || held.Holder.PID != 1 {
			t.Errorf("%s: taken by another: %v", gone, err)
		}
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}
