package soak

// This file strikes at a running wavex: it kills wavex, its watchdog, an agent or a git command,
// sends a signal, or fills the disk.

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
)

// The strikes. Those of git wait for a number of git commands of wavex, the others for a number of
// records in the journal.
const (
	killWavex    = "SIGKILL of wavex"
	killBefore   = "SIGKILL of wavex before a git command"
	killAfter    = "SIGKILL of wavex after a git command"
	killOrphans  = "SIGKILL of wavex beside an orphan"
	killWatchdog = "SIGKILL of the watchdog"
	killTwo      = "SIGKILL of the watchdog, then of wavex"
	killBoth     = "SIGKILL of both at once"
	killAgent    = "SIGKILL of an agent"
	gitBefore    = "SIGKILL of git before its work"
	gitAfter     = "SIGKILL of git after its work"
	gitWithin    = "SIGKILL of git within its work"
	sigterm      = "SIGTERM"
	sigint       = "SIGINT"
	sighup       = "SIGHUP"
	diskLoop     = "no space left for .loop"
	diskProject  = "no space left for the project"
)

var strikes = []string{killWavex, killWavex, killBefore, killAfter, killOrphans, killOrphans, killWatchdog, killTwo,
	killBoth, killAgent, gitBefore, gitAfter, gitWithin, sigterm, sigint, sighup, diskLoop, diskProject}

var signals = map[string]struct {
	signal syscall.Signal
	exit   int
}{sigterm: {unix.SIGTERM, 143}, sigint: {unix.SIGINT, 130}, sighup: {unix.SIGHUP, 129}}

// strike is one strike at one session.
type strike struct {
	kind    string
	at      int // records of the session, or git commands
	with    int // KB that stay free on a full disk; tenths of a millisecond of git's work; which agent
	hit     bool
	records int // in the journal just before a signal
}

func newStrike(rng *rand.Rand) *strike {
	s := &strike{kind: pick(rng, strikes...)}
	switch s.kind {
	case killBefore, killAfter, gitBefore, gitAfter, gitWithin:
		s.at = 1 + rng.IntN(1<<(2+rng.IntN(5)))
	default:
		s.at = 1 + rng.IntN(1<<(1+rng.IntN(6)))
	}
	s.with = rng.IntN(100)
	return s
}

func (s *strike) String() string { return fmt.Sprintf("%s at %d", s.kind, s.at) }

// killsWavex reports whether a hit leaves wavex no time for an end of its own.
func (s *strike) killsWavex() bool {
	switch s.kind {
	case killWavex, killBefore, killAfter, killOrphans, killTwo, killBoth:
		return true
	}
	return false
}

// disk returns the file system that the strike fills, or "".
func (s *strike) disk(p scratch.Project) string {
	switch s.kind {
	case diskLoop:
		return p.Loop()
	case diskProject:
		return p.Dir
	}
	return ""
}

// strikingGit is a git that counts the commands of wavex in a file beside it, and strikes at a
// chosen one. Other programs get the real git.
const strikingGit = `#!/bin/sh
read -r at how wait <"$0.at"
if [ "$at" = 0 ]; then exec %[1]s "$@"; fi
read -r comm <"/proc/$PPID/comm"
if [ "$comm" != %[2]s ]; then exec %[1]s "$@"; fi
n=0
[ ! -f "$0.n" ] || read -r n <"$0.n"
n=$((n + 1))
echo $n >"$0.n"
if [ "$n" != "$at" ]; then exec %[1]s "$@"; fi
echo "$@" >"$0.hit"
case $how in
wavex-before) kill -9 $PPID ;;
wavex-after) %[1]s "$@"; kill -9 $PPID ;;
git-after) %[1]s "$@" ;;
git-within) exec 3<&0; %[1]s "$@" <&3 & sleep $wait; kill -9 $! ;;
esac
kill -9 $$
`

// gitModes are the words of strikingGit for the strikes.
var gitModes = map[string]string{killBefore: "wavex-before", killAfter: "wavex-after", gitBefore: "git-before",
	gitAfter: "git-after", gitWithin: "git-within"}

// newGit makes the folder of strikingGit.
func newGit(t *testing.T, bin, wavex string) {
	t.Helper()
	git, err := exec.LookPath("git")
	testrepo.Must(t, err)
	disarm(t, bin)
	proctest.Script(t, filepath.Join(bin, "git"), fmt.Sprintf(strikingGit, git, filepath.Base(wavex)))
}

// arm prepares the next session for the strike.
func (s *strike) arm(t *testing.T, bin string) {
	t.Helper()
	if mode := gitModes[s.kind]; mode != "" {
		write(t, filepath.Join(bin, "git.at"), fmt.Sprintf("%d %s 0.%04d\n", s.at, mode, s.with))
	}
}

// disarm makes strikingGit an ordinary git, and reports whether it has struck.
func disarm(t *testing.T, bin string) (hit bool) {
	t.Helper()
	write(t, filepath.Join(bin, "git.at"), "0 - 0\n")
	_, err := os.Stat(filepath.Join(bin, "git.hit"))
	for _, name := range []string{"git.n", "git.hit"} {
		_ = os.Remove(filepath.Join(bin, name)) // it may not exist
	}
	return err == nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testrepo.Must(t, os.WriteFile(path, []byte(text), 0o644))
}

// do waits for the moment and strikes. It returns what wavex then did wrong.
func (s *strike) do(w *scratch.Process, before int) (wrong string) {
	if gitModes[s.kind] != "" || !awaitRecords(w, before+s.at) {
		return ""
	}
	run, _ := scratch.LastRun(w.Events())
	switch s.kind {
	case killWavex:
		s.hit = w.Cmd.Process.Kill() == nil
	case killWatchdog, killTwo, killBoth:
		guards := of(w.Alive(run), "guard")
		if len(guards) == 0 || unix.Kill(guards[0].Pid, unix.SIGKILL) != nil {
			return ""
		}
		if s.hit = true; s.kind == killBoth {
			_ = w.Cmd.Process.Kill() // it may have ended
			return ""
		}
		wrong = replaced(w, run, guards[0].Pid)
		if s.kind == killTwo {
			_ = w.Cmd.Process.Kill() // it may have ended
		}
	case killAgent:
		if agents := awaitAlive(w, run, "agent"); agents != nil {
			s.hit = unix.Kill(agents[s.with%len(agents)].Pid, unix.SIGKILL) == nil
		}
	case killOrphans:
		s.hit = awaitAlive(w, run, orphanTime) != nil && w.Cmd.Process.Kill() == nil
	case sigterm, sigint, sighup:
		s.records = len(w.Events())
		s.hit = w.Cmd.Process.Signal(signals[s.kind].signal) == nil
		if took, ok := rig.Within(w.T.Context(), 7*time.Second, w.IsOver); !ok {
			return fmt.Sprintf("%s after %s it is not over", took, s.kind)
		}
	case diskLoop, diskProject:
		s.hit = true
		fill(w.T, s.disk(w.Project), s.with)
	}
	return wrong
}

// awaitRecords waits until the journal has n records, and reports whether wavex was alive then.
func awaitRecords(w *scratch.Process, n int) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var journal *os.File
	buffer := make([]byte, 64<<10)
	for lines := -1; ; { // the first line is no record
		if journal == nil {
			if f, err := os.Open(w.Journal()); err == nil {
				journal = f
				defer f.Close()
			}
		} else {
			for {
				got, err := journal.Read(buffer)
				lines += bytes.Count(buffer[:got], []byte("\n"))
				if err == io.EOF || got == 0 {
					break
				}
			}
		}
		switch {
		case w.IsOver():
			return false
		case lines >= n:
			return true
		}
		<-tick.C
	}
}

// of returns the processes whose first argument is a word: a command of wavex, or orphanTime.
func of(processes []scratch.Found, word string) []scratch.Found {
	return slices.DeleteFunc(processes, func(f scratch.Found) bool { return len(f.Argv) < 2 || f.Argv[1] != word })
}

// awaitAlive waits until such processes are alive, and returns them, or nil if wavex ends before.
func awaitAlive(w *scratch.Process, run, word string) (alive []scratch.Found) {
	rig.Until(w.T.Context(), func() bool {
		alive = of(w.Alive(run), word)
		return len(alive) > 0 || w.IsOver()
	})
	if w.IsOver() {
		return nil
	}
	return alive
}

// replaced waits until another watchdog has taken the place of the old one.
func replaced(w *scratch.Process, run string, old int) (wrong string) {
	took, ok := rig.Within(w.T.Context(), time.Second, func() bool {
		guards := of(w.Alive(run), "guard")
		return w.IsOver() || slices.ContainsFunc(guards, func(f scratch.Found) bool { return f.Pid != old })
	})
	if !ok {
		return fmt.Sprintf("%s after its kill the watchdog is not replaced", took)
	}
	return ""
}

// diskSize is the size of the file systems of disk strikes while they have space.
const diskSize = "size=256m"

// fill leaves some KB free.
func fill(t *testing.T, dir string, kb int) {
	t.Helper()
	var stat unix.Statfs_t
	testrepo.Must(t, unix.Statfs(dir, &stat))
	used := (stat.Blocks - stat.Bfree) * uint64(stat.Bsize) >> 10
	// wavex may have written meanwhile, so that the size is too small for the kernel.
	for more := kb; ; more += 64 {
		err := unix.Mount("scratch", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", int(used)+more))
		if err == nil {
			return
		}
		if more > 100_000 {
			t.Fatal(err)
		}
	}
}
