package gitwork

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// After every file was touched an index gets the times of those that have its contents, and of no others: git compares
// none of them again, and finds the index whole.
func TestRefreshTouched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, version string }{{"sha1", "2"}, {"sha1", "4"}, {"sha256", "2"}, {"sha256", "4"}} {
		t.Run(c.format+" "+c.version, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, nil)
			must(t, os.RemoveAll(filepath.Join(r.dir, ".git")))
			r.git("init", "-q", "--object-format="+c.format)
			content := files{"changed": "1\n", "longer": "1\n", "gone": "1\n", "sparse": "1\n"}
			for i := range 2 * statSample {
				content[fmt.Sprintf("d%02d/some file %d", i%7, i)] = fmt.Sprintln(i)
			}
			r.write(r.dir, content)
			must(t, os.Symlink("gone", filepath.Join(r.dir, "link")))
			r.git("add", "-A")
			r.git("update-index", "--index-version", c.version)
			r.git("update-index", "--skip-worktree", "sparse")
			staged := r.git("ls-files", "-s", "-v")
			r.write(r.dir, files{"changed": "2\n", "longer": "1\n2\n", "sparse": "2\n"})
			must(t, os.Remove(filepath.Join(r.dir, "gone")))
			old := time.Now().Add(-time.Hour)
			for path := range content {
				if path != "gone" {
					must(t, os.Chtimes(filepath.Join(r.dir, path), old, old))
				}
			}
			index := filepath.Join(r.dir, ".git", "index")
			before, err := os.ReadFile(index)
			must(t, err)
			refresh(t, index, r.dir, old, false)
			now, err := os.ReadFile(index)
			must(t, err)
			if !bytes.Equal(before, now) {
				t.Error("files that may change without a change of their times are taken as settled")
			}
			refresh(t, index, r.dir, time.Now().Add(time.Hour), false)
			equal(t, "files that differ", r.git("diff", "--name-only"), "changed\ngone\nlonger")
			equal(t, "the index", r.git("ls-files", "-s", "-v"), staged)
			r.git("fsck", "--strict")

			// A file that is as new as the index, and changed without a change of its times, differs all the same.
			r.git("add", "-A")
			for path := range content {
				if path != "gone" && path != "changed" {
					must(t, os.Chtimes(filepath.Join(r.dir, path), old, old.Add(time.Second)))
				}
			}
			must(t, os.Chtimes(index, old, old))
			r.write(r.dir, files{"changed": "3\n"})
			must(t, os.Chtimes(filepath.Join(r.dir, "changed"), old, old))
			refresh(t, index, r.dir, time.Now().Add(time.Hour), false)
			equal(t, "files that differ later", r.git("-c", "core.trustctime=false", "diff", "--name-only"), "changed")
		})
	}
}

// Most builds of git compare times by whole seconds. So a file that changed in the second in which it was added stays
// different, also a link.
func TestRefreshTouchedInTheSameSecond(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	content := files{"changed": "1\n"}
	for i := range 2 * statSample {
		content[fmt.Sprint(i)] = fmt.Sprintln(i)
	}
	r.write(r.dir, content)
	link, changed := filepath.Join(r.dir, "link"), filepath.Join(r.dir, "changed")
	must(t, os.Symlink("here", link))
	second := time.Now().Add(-time.Hour).Truncate(time.Second)
	setTime(t, changed, second.Add(100*time.Millisecond))
	setTime(t, link, second.Add(100*time.Millisecond))
	r.git("add", "-A")
	index := filepath.Join(r.dir, ".git", "index")
	setTime(t, index, second.Add(500*time.Millisecond))
	r.write(r.dir, files{"changed": "2\n"})
	must(t, os.Remove(link))
	must(t, os.Symlink("away", link))
	setTime(t, changed, second.Add(700*time.Millisecond))
	setTime(t, link, second.Add(700*time.Millisecond))
	for i := range 2 * statSample {
		setTime(t, filepath.Join(r.dir, fmt.Sprint(i)), second.Add(time.Minute))
	}
	refresh(t, index, r.dir, time.Now().Add(time.Hour), false)
	equal(t, "files that differ", r.git(append(coarse, "diff-files", "--name-only")...), "changed\nlink")
}

// coarse makes git compare files by the second of their modification and their size.
var coarse = []string{"-c", "core.trustctime=false", "-c", "core.checkStat=minimal"}

func setTime(t *testing.T, path string, to time.Time) {
	t.Helper()
	ts := unix.NsecToTimespec(to.UnixNano())
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
}

// refresh is refreshTouched, and reports whether the entries must be compared again.
func refresh(t *testing.T, index, top string, before time.Time, all bool) bool {
	t.Helper()
	again, err := refreshTouched(index, top, before, all)
	must(t, err)
	return again
}

// A file of the present second gets its times too, and git does not read it. It may change in this second once more,
// which the next look finds by the rest of its times.
func TestRefreshTouchedInThePresentSecond(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	content := files{}
	for i := range 2 * statSample {
		content[fmt.Sprint(i)] = fmt.Sprintln(i)
	}
	r.write(r.dir, content)
	r.git("add", "-A")
	index := filepath.Join(r.dir, ".git", "index")
	var last unix.Stat_t
	touched := time.Now().Add(-20 * time.Millisecond) // the clock of a file system is late
	for i := range 2 * statSample {
		path := filepath.Join(r.dir, fmt.Sprint(i))
		setTime(t, path, touched)
		must(t, unix.Lstat(path, &last))
	}

	if !refresh(t, index, r.dir, time.Unix(last.Ctim.Unix()).Add(time.Nanosecond), false) {
		t.Fatal("no file of this second has to be compared again")
	}
	text, err := os.ReadFile(index)
	must(t, err)
	info, err := os.Stat(index)
	must(t, err)
	entries, _ := parseIndex(text)
	equal(t, "the number of entries", len(entries), 2*statSample)
	for _, e := range entries {
		if size := binary.BigEndian.Uint32(e.stat[36:]); size == 0 || info.ModTime().Unix() <= e.second() {
			t.Fatalf("git reads %s again: size %d, index of %s", e.path, size, info.ModTime())
		}
	}

	r.write(r.dir, files{"7": "8\n"})
	setTime(t, filepath.Join(r.dir, "7"), time.Unix(touched.Unix(), (touched.UnixNano()+5e8)%1e9))
	if refresh(t, index, r.dir, time.Now().Add(time.Hour), true) {
		t.Error("a second that is over has to be compared again")
	}
	equal(t, "files that differ", r.git(append(coarse, "diff-files", "--name-only")...), "7")
}

// A split index stays as it is: the rest of its entries is in another file.
func TestRefreshTouchedSplitIndex(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"shared": "1\n"})
	r.git("update-index", "--split-index")
	content := files{}
	for i := range 2 * statSample {
		content[fmt.Sprint(i)] = fmt.Sprintln(i)
	}
	r.write(r.dir, content)
	r.git("-c", "splitIndex.maxPercentChange=100", "add", "-A")
	for path := range content {
		must(t, os.Chtimes(filepath.Join(r.dir, path), time.Time{}, time.Now().Add(-time.Hour)))
	}
	index := filepath.Join(r.dir, ".git", "index")
	before, err := os.ReadFile(index)
	must(t, err)
	refresh(t, index, r.dir, time.Now().Add(time.Hour), false)
	now, err := os.ReadFile(index)
	must(t, err)
	if !bytes.Equal(before, now) {
		t.Error("a split index is changed")
	}
}

// An index without a checksum, as with index.skipHash, stays as it is. If its entries must be compared, git reads the
// files.
func TestRefreshTouchedOtherIndex(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	index := filepath.Join(r.dir, ".git", "index")
	before, err := os.ReadFile(index)
	must(t, err)
	clear(before[len(before)-20:])
	must(t, os.WriteFile(index, before, 0o600))
	touched := time.Now().Add(-time.Hour).Truncate(time.Second)
	setTime(t, filepath.Join(r.dir, "a"), touched)
	r.git("update-index", "-q", "--refresh")
	must(t, os.WriteFile(filepath.Join(r.dir, "a"), []byte("2\n"), 0o600))
	setTime(t, filepath.Join(r.dir, "a"), touched.Add(time.Millisecond))
	before, err = os.ReadFile(index)
	must(t, err)
	clear(before[len(before)-20:])
	must(t, os.WriteFile(index, before, 0o600))

	if refresh(t, index, r.dir, time.Now(), true) {
		t.Error("it must be compared again")
	}
	now, err := os.ReadFile(index)
	must(t, err)
	if !bytes.Equal(before, now) {
		t.Error("an index of another kind is changed")
	}
	equal(t, "files that differ", r.git(append(coarse, "diff-files", "--name-only")...), "a")
}

// BenchmarkRefreshTouched touches 6,000 files of 18 KB, whose contents and folders are those of make bench-repos.
func BenchmarkRefreshTouched(b *testing.B) {
	const files, size = 6000, 18 << 10
	r := newRepo(b, nil)
	var info strings.Builder
	content := []byte(strings.Repeat("0123456789abcdef", size/16))
	path := func(i int) string { return fmt.Sprintf("d%02d/e%02d/f%05d.go", i/20%100, i/2000, i) }
	for i := range files {
		binary.BigEndian.PutUint64(content, uint64(i))
		must(b, os.MkdirAll(filepath.Join(r.dir, filepath.Dir(path(i))), 0o755))
		must(b, os.WriteFile(filepath.Join(r.dir, path(i)), content, 0o644))
		id := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", size), content...))
		fmt.Fprintf(&info, "100644 %x 0\t%s\n", id, path(i))
	}
	add := exec.Command("git", "update-index", "--index-info")
	add.Dir, add.Env, add.Stdin = r.dir, r.env, strings.NewReader(info.String())
	must(b, add.Run())
	index := filepath.Join(r.dir, ".git", "index")
	text, err := os.ReadFile(index)
	must(b, err)
	entries, newHash := parseIndex(text)
	for _, e := range entries {
		binary.BigEndian.PutUint32(e.stat[36:], size)
	}
	h := newHash()
	body := text[:len(text)-h.Size()]
	h.Write(body)
	must(b, os.WriteFile(index, h.Sum(body), 0o600))
	used := time.Duration(0)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		at := time.Unix(int64(1e9+i), 0)
		for k := range files {
			must(b, os.Chtimes(filepath.Join(r.dir, path(k)), at, at))
		}
		b.StartTimer()
		before := cpuTime(b)
		_, err := refreshTouched(index, r.dir, time.Now().Add(time.Hour), false)
		must(b, err)
		used += cpuTime(b) - before
	}
	b.StopTimer()
	equal(b, "files that differ", r.git("diff-files", "--name-only"), "")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/files, "ns-CPU/file")
}

// cpuTime returns the time that this process has used processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
