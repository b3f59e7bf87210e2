package crash

// This file tests a .loop that something has changed since wavex wrote it: a journal of another
// version, a damaged one, the traces of a dead wavex. wavex leaves a refused .loop unchanged, and
// --fresh moves it aside.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/e2e/scratch"
	"wavex/internal/journal"
	"wavex/internal/testrepo"
)

// unfinished returns a project whose run was killed in the middle.
func unfinished(t *testing.T) scratch.Project {
	t.Helper()
	p := newProject(t, hangingPlan)
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	w.Started(3)
	testrepo.Must(t, w.Cmd.Process.Kill())
	w.End()
	p.MustBeGone(2*time.Second, "the kill")
	return p
}

func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(data []byte) []byte
		words  []string
	}{
		{"of a newer version", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"version":1}`), []byte(`"version":2}`), 1)
		}, []string{"journal.jsonl has journal version 2", "reads version 1", "--fresh"}},
		{"an event of a newer version", func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			return append(lines[0], checksummedLine(t, `{"v":2,"seq":1,"type":"run_started","data":{}}`)...)
		}, []string{"version 2", "--fresh"}},
		{"a flipped byte in the middle", func(b []byte) []byte {
			at := bytes.Index(b, []byte("wave_started"))
			b[at] ^= 1
			return b
		}, []string{"journal.jsonl:3: checksum does not match", "--fresh"}},
		{"a line that is missing its end", func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[2] = append(lines[2][:10], '\n')
			return bytes.Join(lines, nil)
		}, []string{"journal.jsonl:3: no whole record"}},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }, []string{"journal.jsonl:1: not a wavex journal"}},
		{"not a journal", func([]byte) []byte { return []byte("hello\n") }, []string{"journal.jsonl:1: not a wavex journal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := unfinished(t)
			data, err := os.ReadFile(p.Journal())
			testrepo.Must(t, err)
			data = c.damage(data)
			testrepo.Must(t, os.WriteFile(p.Journal(), data, 0o600))
			p.Rehearse().MustSay(t, 5, c.words...)
			p.Run("resume").MustSay(t, 5, c.words...)
			p.Run("status").MustSay(t, 5, c.words...)
			if now, err := os.ReadFile(p.Journal()); err != nil || !bytes.Equal(now, data) {
				t.Errorf("the journal was changed, %v", err)
			}
			p.Write("plan.json", fiveTasksPlan) // its first attempts end
			if e := p.Rehearse("--fresh"); e.Exit != 0 {
				t.Fatalf("--fresh: exit %d\n%s", e.Exit, e.Stderr)
			}
			aside, _ := filepath.Glob(p.Loop() + ".bak-*")
			if len(aside) != 1 {
				t.Fatalf("moved aside: %q", aside)
			}
			if old, err := os.ReadFile(filepath.Join(aside[0], "journal.jsonl")); err != nil || !bytes.Equal(old, data) {
				t.Errorf("the old journal was changed, %v", err)
			}
			p.MustAddUp(false)
		})
	}
}

// checksummedLine returns a journal line with a good checksum.
func checksummedLine(t *testing.T, record string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "j")
	l, _, err := journal.Open(path)
	testrepo.Must(t, err)
	testrepo.Must(t, l.Append([]byte(record)))
	testrepo.Must(t, l.Sync())
	testrepo.Must(t, l.Close())
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
	_, line, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// The lock of a dead wavex does not block others, whatever holder.json contains, even if its pid
// has been reused.
func TestLockOfTheDead(t *testing.T) {
	t.Parallel()
	for name, holder := range map[string]string{
		"a dead pid":         `{"pid":4194303,"host":"here","since":"2020-01-01T00:00:00Z"}`,
		"the pid of another": fmt.Sprintf(`{"pid":%d,"host":"here","since":"2020-01-01T00:00:00Z"}`, os.Getpid()),
		"cut off":            `{"pid":41`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := unfinished(t)
			testrepo.Must(t, os.WriteFile(filepath.Join(p.Loop(), "holder.json"), []byte(holder), 0o600))
			p.MustComplete()
			p.MustAddUp(false)
		})
	}
}

// The lock of a live wavex is respected, with the holder's name in the message, and its work is
// not disturbed.
func TestLockOfTheLiving(t *testing.T) {
	t.Parallel()
	p := newProject(t, interruptiblePlan)
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	w.Started(2)
	held := fmt.Sprintf("in use by wavex process %d", w.Cmd.Process.Pid)
	p.Rehearse().MustSay(t, 5, held)
	p.Run("resume").MustSay(t, 5, held)
	p.Rehearse("--fresh").MustSay(t, 5, held)
	if e := p.Run("status", "--output", "json"); e.Exit != 0 || !json.Valid([]byte(e.Stdout)) {
		t.Errorf("status meanwhile: exit %d\n%s%s", e.Exit, e.Stdout, e.Stderr)
	}
	testrepo.Must(t, w.Cmd.Process.Signal(unix.SIGTERM))
	if e := w.End(); e.Exit != 143 {
		t.Errorf("exit %d\n%s", e.Exit, e.Stderr)
	}
	p.MustBeGone(time.Second, "the end")
	if strings.Count(p.Dump(), `"type":"run_started"`) != 1 {
		t.Errorf("somebody else wrote into the journal:\n%s", p.Dump())
	}
	p.MustComplete()
	p.MustAddUp(false)
}
