// Package snapshot keeps what `wavex status`, `report` and `watch` show of a long journal in one file beside it, so
// that they need not read and apply all records. The file is derived from the journal, and no decision depends on it.
// A snapshot is used only if the journal begins with exactly the bytes that it was made of, and the same wavex made it;
// any other file is ignored and replaced.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/safefile"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// Bounds of snapshots.
const (
	// least is the size of a journal from which on there are snapshots: smaller ones are read in less than 0.2 s.
	least = 4 << 20
	// maxAge is the age up to which a snapshot of a run that goes on is shown although the journal has more records.
	maxAge = 5 * time.Second
	// maxFile is the largest file that is read.
	maxFile = 32 << 20
)

// Snapshot holds what views show of a run after some records of its journal. It is plain data.
type Snapshot struct {
	Dir     string // the .loop directory, absolute
	Run     string
	Mark    journal.Mark // the records
	Taken   time.Time
	Status  ui.Status
	Board   *ui.Board      // of a run that has ended, for wavex watch; else nil
	Summary report.Summary // see report.BriefOf
	Plan    PlanFile
}

// PlanFile describes the plan's file.
type PlanFile struct {
	Path   string // absolute
	Digest string
	Fixed  bool // the digest says everything: the run was given no parameters and no lists
}

// Of makes the snapshot of a run after the records of mark. While a run has not ended, it says that a process works at
// it.
func Of(dir loop.Dir, s *scheduler.State, file PlanFile, mark journal.Mark, now time.Time) (*Snapshot, error) {
	abs, err := filepath.Abs(string(dir))
	if err != nil {
		return nil, err
	}
	shot := &Snapshot{Dir: abs, Run: s.Config.Run, Mark: mark, Taken: now, Status: ui.StatusOf(s, true),
		Summary: report.BriefOf(s), Plan: file}
	if s.Ended != nil {
		shot.Board = ui.BoardOf(s, false)
	}
	return shot, nil
}

// Wanted reports whether a journal is long enough for a snapshot.
func Wanted(mark journal.Mark) bool { return mark.Size >= least }

// Write stores a snapshot in place of an earlier one, whole or not at all.
func Write(dir loop.Dir, s *Snapshot) error {
	text, err := encode(s)
	if err != nil {
		return err
	}
	return write(dir, text)
}

func write(dir loop.Dir, text []byte) error {
	return safefile.Replace(dir.Path(loop.Snapshot), text, 0o600, false)
}

// encode returns the text of a snapshot: the header, a checksum and the data.
func encode(s *Snapshot) ([]byte, error) {
	body := bytes.NewBufferString(header())
	sum := body.Len()
	body.WriteString("00000000\n")
	start := body.Len()
	if err := gob.NewEncoder(body).Encode(s); err != nil {
		return nil, fmt.Errorf("encoding a snapshot: %w", err)
	}
	text := body.Bytes()
	copy(text[sum:], fmt.Sprintf("%08x", checksum(text[start:])))
	return text, nil
}

// Read returns the snapshot of a .loop directory, or nil if there is none of this wavex and of this directory.
func Read(dir loop.Dir) *Snapshot {
	text, err := safefile.Read(dir.Path(loop.Snapshot), maxFile)
	if err != nil {
		return nil
	}
	rest, ok := bytes.CutPrefix(text, []byte(header()))
	if !ok || len(rest) < 9 || string(rest[:9]) != fmt.Sprintf("%08x\n", checksum(rest[9:])) {
		return nil
	}
	var s Snapshot
	if gob.NewDecoder(bytes.NewReader(rest[9:])).Decode(&s) != nil {
		return nil
	}
	if abs, err := filepath.Abs(string(dir)); err != nil || abs != s.Dir {
		return nil // a copied project has other paths
	}
	return &s
}

// Current returns the snapshot of the last run of a .loop directory, if it shows the run as it is now. Of a run that
// goes on it may be up to maxAge old; behind reports that the journal has more records. Without one it returns nil. run
// names the run; "" stands for the last one.
func Current(dir loop.Dir, run string, now time.Time) (s *Snapshot, behind bool) {
	if st, err := os.Stat(dir.Path(loop.Journal)); err != nil || st.Size() < least {
		return nil, false
	}
	if s = Read(dir); s == nil || run != "" && run != s.Run {
		return nil, false
	}
	if s.Status.Going && !journal.Locked(dir) {
		return nil, false // cut off: the cost of its open work is not on record
	}
	found, behind, err := s.Mark.Find(dir.Path(loop.Journal))
	age := now.Sub(s.Taken) // negative after the clock was set back
	if err != nil || !found || behind && (!s.Status.Going || age < 0 || age > maxAge) {
		return nil, false
	}
	return s, behind
}

// PlanUnchanged reports whether the plan's file has not changed since the run's session began. It reports false if the
// file has to be parsed to know.
func (p *PlanFile) PlanUnchanged() bool {
	if !p.Fixed {
		return false
	}
	digest, err := safefile.Digest(safefile.Open(p.Path))
	return err == nil && digest == p.Digest
}

// FileOf returns the plan's file of a state, whose path is absolute.
func FileOf(s *scheduler.State, path string) PlanFile {
	return PlanFile{Path: path, Digest: s.Plan.Digest, Fixed: isFixed(s)}
}

func isFixed(s *scheduler.State) bool { return len(s.Config.Params)+len(s.Config.Lists) == 0 }

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// header returns the first line of a snapshot. It names the build and the form of the data, since another wavex may
// show the same records otherwise.
var header = sync.OnceValue(func() string { return headerOf(executableStart()) })

// executableStart returns the first bytes of this program. They hold the build ID of the linker, which differs between
// two builds of one commit, or without a commit, if their code does.
func executableStart() []byte {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	start, _ := io.ReadAll(io.LimitReader(f, 32<<10))
	return start
}

func headerOf(executable []byte) string {
	h := sha256.New()
	h.Write(executable)
	if b, ok := debug.ReadBuildInfo(); ok {
		h.Write([]byte(b.String()))
	}
	describe(h.Write, reflect.TypeFor[Snapshot](), map[reflect.Type]bool{})
	return "wavex snapshot 1 " + hex.EncodeToString(h.Sum(nil)[:12]) + " "
}

// describe writes the form of a type.
func describe(write func([]byte) (int, error), t reflect.Type, seen map[reflect.Type]bool) {
	_, _ = write([]byte(t.String() + " " + t.Kind().String() + ";")) // a hash does not fail
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		describe(write, t.Elem(), seen)
	case reflect.Map:
		describe(write, t.Key(), seen)
		describe(write, t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			_, _ = write([]byte(t.Field(i).Name + " "))
			describe(write, t.Field(i).Type, seen)
		}
	}
}
