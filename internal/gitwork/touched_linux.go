package gitwork

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
)

// This file finds the files of an index that were touched and not changed, as after cp or the restore of a cache. Git
// would read them one after the other.

const (
	statSample    = 64      // entries that are looked at first
	entriesAtOnce = 64      // entries that one goroutine takes, since its folder stays open
	sharedSize    = 62 - 20 // of the fields of an entry before its name, without the id
)

// indexEntry is a regular file or a symbolic link in an index. stat and id are parts of the index.
type indexEntry struct {
	path     string
	stat, id []byte
}

// refreshTouched gives the entries of an index the times of the files below top, for those files that were touched
// before a time of at most now and have the contents of their entries. It does so if most files have other times, or
// with all. An index that it does not understand stays as it is.
//
// Most builds of git compare times by whole seconds, and the index becomes newer than all entries. So git does not see
// that such a file changes once more in its second. If that second was not over, the next call must compare all files,
// by their whole times: again is true.
func refreshTouched(index, top string, before time.Time, all bool) (again bool, err error) {
	info, err := os.Stat(index)
	if errors.Is(err, fs.ErrNotExist) { // no file was ever added
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := safefile.Read(index, maxIndex)
	if err != nil {
		return false, err
	}
	entries, newHash := parseIndex(text)
	switch {
	case len(entries) == 0 && all:
		return false, os.Chtimes(index, time.Time{}, time.Unix(1, 0)) // git reads files that are as new as the index
	case len(entries) == 0, !all && (len(entries) < statSample || !mostTouched(entries, top, before)): // git is as fast
		return false, nil
	}
	var next atomic.Int64
	var group errgroup.Group
	seconds := make([]int64, runtime.GOMAXPROCS(0)) // the last of each goroutine's entries
	for n := range seconds {
		group.Go(func() error {
			r := refresher{folder{top: top, fd: -1}, before, info.ModTime().Unix(), !all, newHash(), make([]byte, 128<<10)}
			defer r.close()
			for {
				i := int(next.Add(entriesAtOnce)) - entriesAtOnce
				if i >= len(entries) {
					return nil
				}
				for _, e := range entries[i:min(i+entriesAtOnce, len(entries))] {
					seconds[n] = max(seconds[n], r.refresh(e))
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	h := newHash()
	body := text[:len(text)-h.Size()]
	h.Write(body)
	if err := os.WriteFile(index, h.Sum(body), 0o600); err != nil {
		return false, err
	}
	newest := slices.Max(seconds)
	if newest < before.Unix() {
		return false, nil
	}
	return true, os.Chtimes(index, time.Time{}, time.Unix(newest+1, 0))
}

// refresher refreshes entries of an index.
type refresher struct {
	folder
	before time.Time
	index  int64 // second of the index
	opens  bool  // most files must be read: to open a file and ask for its state costs less than to look it up twice
	hash   hash.Hash
	buffer []byte
}

// refresh gives an entry the times of its file if it has its contents, and else makes git read the file. It returns the
// last second of the file's times, or 0 if git reads it.
func (r *refresher) refresh(e indexEntry) int64 {
	f := file{fd: -1}
	defer f.close()
	if r.opens {
		f.open(&r.folder, e.path)
	}
	st, differs := e.differs(&r.folder, f)
	switch {
	case !differs && e.second() < r.index:
	case settled(st, r.before) && f.open(&r.folder, e.path) && e.hasContents(f, st, r.hash, r.buffer):
		e.setStat(st)
	default:
		clear(e.stat[36:]) // git reads a file again whose entry has the size 0
		return 0
	}
	return max(st.Ctim.Sec, st.Mtim.Sec)
}

// mostTouched reports whether most files of a sample were touched before a time.
func mostTouched(entries []indexEntry, top string, before time.Time) bool {
	f := folder{top: top, fd: -1}
	defer f.close()
	touched := 0
	for i := range statSample {
		if st, differs := entries[i*len(entries)/statSample].differs(&f, file{fd: -1}); differs && settled(st, before) {
			touched++
		}
	}
	return touched >= statSample/2
}

// parseIndex returns the files and links of an index, and the hash of the repository's ids; none if it is split or of
// an unknown kind. See gitformat-index(5).
func parseIndex(text []byte) (entries []indexEntry, newHash func() hash.Hash) {
	for _, newHash = range []func() hash.Hash{sha1.New, sha256.New} {
		h := newHash()
		if len(text) < 12+h.Size() {
			return nil, nil
		}
		body := text[:len(text)-h.Size()]
		if h.Write(body); bytes.Equal(h.Sum(nil), text[len(body):]) {
			return parseEntries(body, h.Size()), newHash
		}
	}
	return nil, nil
}

// parseEntries returns the entries of an index without its checksum, whose ids have idSize bytes.
func parseEntries(body []byte, idSize int) (entries []indexEntry) {
	version, n := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
	if string(body[:4]) != "DIRC" || version < 2 || version > 4 {
		return nil
	}
	name, rest := "", body[12:]
	for range n {
		if len(rest) < sharedSize+idSize {
			return nil
		}
		entry := rest
		stat, id := rest[:40], rest[40:40+idSize]
		flags := binary.BigEndian.Uint16(rest[40+idSize:])
		rest = rest[sharedSize+idSize:]
		skipped := flags&0xB000 != 0 // assumed to be valid, or of a merge
		if flags&0x4000 != 0 {
			skipped = skipped || len(rest) < 2 || binary.BigEndian.Uint16(rest)&0x6000 != 0 // sparse, or not yet added
			rest = rest[min(2, len(rest)):]
		}
		if version == 4 {
			strip, size := offset(rest)
			if strip > len(name) {
				return nil
			}
			name, rest = name[:len(name)-strip], rest[size:]
		} else {
			name = ""
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil
		}
		name, rest = name+string(rest[:end]), rest[end+1:]
		if used := len(entry) - len(rest); version < 4 && used%8 > 0 {
			rest = rest[min(8-used%8, len(rest)):]
		}
		kind := binary.BigEndian.Uint32(stat[24:]) & unix.S_IFMT
		if !skipped && (kind == unix.S_IFREG || kind == unix.S_IFLNK) {
			entries = append(entries, indexEntry{name, stat, id})
		}
	}
	for len(rest) >= 8 { // extensions
		if string(rest[:4]) == "link" {
			return nil // split
		}
		rest = rest[min(8+uint64(binary.BigEndian.Uint32(rest[4:])), uint64(len(rest))):]
	}
	return entries
}

// offset reads a number of variable length as in packs, and returns it with its size.
func offset(b []byte) (n, size int) {
	for i, c := range b {
		if n = n<<7 + int(c&0x7f); c < 0x80 || i > 4 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}

// differs returns the state of the file of an entry, which may be open, and reports whether it has other times than the
// entry, and the same size.
func (e indexEntry) differs(f *folder, open file) (st unix.Stat_t, differs bool) {
	var err error
	if open.fd >= 0 {
		err = unix.Fstat(open.fd, &st)
	} else {
		name := f.open(e.path)
		err = unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG ||
		uint32(st.Size) != binary.BigEndian.Uint32(e.stat[36:]) {
		return st, false
	}
	var stat [40]byte
	now := indexEntry{stat: stat[:]}
	copy(now.stat, e.stat)
	now.setStat(st)
	return st, !bytes.Equal(now.stat, e.stat)
}

// second returns the second in which the file was modified when the entry was made.
func (e indexEntry) second() int64 { return int64(binary.BigEndian.Uint32(e.stat[8:])) }

// setStat sets the fields of an entry that tell whether its file was touched.
func (e indexEntry) setStat(st unix.Stat_t) {
	for i, v := range []uint32{uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec),
		uint32(st.Dev), uint32(st.Ino)} {
		binary.BigEndian.PutUint32(e.stat[4*i:], v)
	}
	binary.BigEndian.PutUint32(e.stat[28:], st.Uid)
	binary.BigEndian.PutUint32(e.stat[32:], st.Gid)
}

// settled reports whether a file was last touched before a time. Some file systems have whole seconds only.
func settled(st unix.Stat_t, before time.Time) bool {
	if st.Ctim.Nsec == 0 {
		before = before.Truncate(time.Second)
	}
	return time.Unix(st.Ctim.Unix()).Before(before) && time.Unix(st.Mtim.Unix()).Before(before)
}

// hasContents reports whether the open file of an entry has the contents of its blob, without a filter.
func (e indexEntry) hasContents(f file, st unix.Stat_t, h hash.Hash, buffer []byte) bool {
	h.Reset()
	filled := copy(buffer, "blob ")
	filled += len(strconv.AppendInt(buffer[filled:filled], st.Size, 10))
	buffer[filled] = 0
	filled++
	for size := int64(0); ; { // without the poller of the runtime
		n, err := unix.Read(f.fd, buffer[filled:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return false
		}
		full := n == len(buffer)-filled
		size += int64(n)
		h.Write(buffer[:filled+n])
		if n == 0 || !full && size >= st.Size { // the end: a read returns less only there
			return size == st.Size && bytes.Equal(h.Sum(buffer[:0]), e.id)
		}
		filled = 0
	}
}

// file is a file that is open for reading; its fd is -1 if it is not.
type file struct{ fd int }

// open opens a regular file, unless it is open, and reports whether it is. The time of the last access stays: a file
// that was touched would get another one, which has to be written.
func (f *file) open(in *folder, path string) bool {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	if f.fd >= 0 {
		return true
	}
	name := in.open(path)
	fd, err := unix.Openat(in.fd, name, flags|unix.O_NOATIME, 0)
	if err == unix.EPERM { // another user's file
		fd, err = unix.Openat(in.fd, name, flags, 0)
	}
	if err == nil {
		f.fd = fd
	}
	return err == nil
}

func (f *file) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // read only
	}
}

// folder keeps the folder of the file before open: the entries of an index are sorted.
type folder struct {
	top, path string
	fd        int // -1: it is closed or cannot be opened
}

// open opens the folder of a file and returns the name of the file in it.
func (f *folder) open(path string) (name string) {
	i := strings.LastIndexByte(path, '/') + 1
	if f.fd < 0 || f.path != path[:i] {
		f.close()
		f.path = path[:i]
		fd, err := unix.Open(filepath.Join(f.top, f.path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			f.fd = fd
		}
	}
	return path[i:]
}

func (f *folder) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // read only
	}
	f.fd = -1
}
