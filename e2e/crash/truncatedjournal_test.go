package crash

// This file cuts the journal after its bytes, and changes its bytes.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// memoryDir returns a directory in memory if there is one, because thousands of journals are synced,
// and their durability is not under test.
func memoryDir(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "wavex-crash-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// complete runs the plan at once, and returns the bytes of its journal.
func complete(t *testing.T, p *plan.Plan, path string) []byte {
	t.Helper()
	testrepo.Must(t, resumeAndAudit(t.Context(), p, path, nil))
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
	return data
}

// resumeAndAudit writes data as a journal, resumes from it, and audits the whole.
func resumeAndAudit(ctx context.Context, p *plan.Plan, path string, data []byte) error {
	if data != nil {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	s, past, err := session(ctx, p, path, time.Now)
	if err != nil {
		return err
	}
	records, err := journal.Read(path)
	if err != nil {
		return err
	}
	events, err := decode(records)
	if err != nil {
		return err
	}
	return audit(events, past, s)
}

// tries reports whether a test tries byte n of a journal: each of the first quarter, and of the rest, whose records are
// of the same types, every sixteenth.
func tries(data []byte, n int) bool { return n < len(data)/4 || n%16 == 0 }

// A journal that is cut at any byte must open as the whole lines before it, byte for byte. So all
// cuts within a line lead to the same resume. The test resumes from the ends of every line and
// from every sixteenth byte between them, and cuts the result again.
func TestJournalCutAtEveryByte(t *testing.T) {
	t.Parallel()
	p := parsed(t, tenTasks)
	dir := memoryDir(t)
	data := complete(t, p, filepath.Join(dir, "whole"))
	t.Logf("%d bytes, %d records", len(data), bytes.Count(data, []byte("\n"))-1)
	const shards = 4
	for shard := range shards {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			p := parsed(t, tenTasks)
			path := filepath.Join(dir, fmt.Sprint("cut-", shard))
			rng := rand.New(rand.NewPCG(1, uint64(shard)))
			for n := shard; n <= len(data); n += shards {
				atEnd := n == 0 || n >= len(data)-1 || data[n-1] == '\n' || data[n] == '\n'
				if atEnd || tries(data, n) {
					mustOpenWhole(t, path, data, n)
				}
				if !atEnd && n/shards%16 != 0 {
					continue
				}
				if err := resumeAndAudit(t.Context(), p, path, data[:n]); err != nil {
					t.Fatalf("cut after byte %d: %v", n, err)
				}
				longer, err := os.ReadFile(path)
				testrepo.Must(t, err)
				again := min(n+rng.IntN(max(len(longer)-n, 1)), len(longer))
				if err := resumeAndAudit(t.Context(), p, path, longer[:again]); err != nil {
					t.Fatalf("cut after byte %d, resumed, and cut after byte %d: %v", n, again, err)
				}
			}
		})
	}
}

// mustOpenWhole asserts that the journal cut after byte n opens as its whole lines and nothing
// else.
func mustOpenWhole(t *testing.T, path string, data []byte, n int) {
	t.Helper()
	testrepo.Must(t, os.WriteFile(path, data[:n], 0o600))
	l, records, err := journal.Open(path)
	if err != nil {
		t.Fatalf("cut after byte %d: %v", n, err)
	}
	testrepo.Must(t, l.Close())
	want := data[:bytes.LastIndexByte(data[:n], '\n')+1]
	if len(want) == 0 { // opening starts a new journal
		want = data[:bytes.IndexByte(data, '\n')+1]
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, want) || len(records) != bytes.Count(want,
		[]byte("\n"))-1 {
		t.Fatalf("cut after byte %d, opened: %d records, %d bytes, %v; want the %d bytes of whole lines", n, len(records),
			len(now), err, len(want))
	}
}

// Any wrong byte of a line is found, and reported with its line, and nothing runs on such a
// journal. The test flips the bit that makes a lower case letter upper case. It skips the last
// newline, because without it the last line is a torn tail.
func TestJournalFlippedAtEveryByte(t *testing.T) {
	t.Parallel()
	p := parsed(t, tenTasks)
	dir := memoryDir(t)
	data := complete(t, p, filepath.Join(dir, "whole"))
	path := filepath.Join(dir, "flipped")
	line := 1
	for n := range len(data) - 1 {
		bit := n % 8
		if data[n] >= 'a' && data[n] <= 'z' {
			bit = 5
		}
		if tries(data, n) {
			bad := bytes.Clone(data)
			bad[n] ^= 1 << bit
			testrepo.Must(t, os.WriteFile(path, bad, 0o600))
			_, _, err := session(t.Context(), p, path, time.Now)
			var corrupt *journal.CorruptError
			var version *journal.VersionError
			switch {
			case errors.As(err, &corrupt) && corrupt.Line == line:
			case errors.As(err, &version) && line == 1:
			default:
				t.Fatalf("bit %d of byte %d %q, in line %d, flipped: %v", bit, n, data[n], line, err)
			}
		}
		if data[n] == '\n' {
			line++
		}
	}
}
