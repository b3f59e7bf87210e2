package cmd

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// Each row lists the effect of each signal: d drains, i interrupts, a dash sends nothing new to the
// session, a number leaves at once with that code. With auto at a terminal only SIGINT drains.
func TestStopRequests(t *testing.T) {
	t.Parallel()
	const (
		in   = syscall.SIGINT
		term = syscall.SIGTERM
		hup  = syscall.SIGHUP
	)
	for _, tt := range []struct {
		onSignal string
		terminal bool
		signals  []os.Signal
		want     string
	}{
		{"auto", true, []os.Signal{in, in, in}, "d i 130"},
		{"auto", false, []os.Signal{in, in}, "i 130"},
		{"auto", false, []os.Signal{in, term}, "i 143"}, // a CI runner
		{"auto", true, []os.Signal{term, term}, "i 143"},
		{"auto", true, []os.Signal{in, term, term}, "d i 143"},
		{"auto", true, []os.Signal{hup, term, hup}, "i - -"}, // a login that ends
		{"auto", true, []os.Signal{hup, term, term}, "i - 143"},
		{"drain", false, []os.Signal{in, in, in}, "d i 130"},
		{"drain", false, []os.Signal{in, term, term}, "d i 143"},
		{"interrupt", true, []os.Signal{term, in}, "i 130"},
		{"drain", false, []os.Signal{hup, hup, hup, hup}, "i - - -"},
		{"interrupt", true, []os.Signal{hup, hup}, "i -"},
		{"drain", false, []os.Signal{in, hup, hup}, "d i -"},
		{"drain", false, []os.Signal{in, in, hup}, "d i -"},
		{"drain", false, []os.Signal{hup, term, hup}, "i - -"}, // a login that ends
		{"drain", false, []os.Signal{hup, term, term, term}, "i - - 143"},
		{"interrupt", true, []os.Signal{hup, term, term}, "i - 143"},
	} {
		w := stopRequests{drains: func(s os.Signal) bool { return drainsFirst(s, tt.onSignal, tt.terminal) }}
		var got []string
		for _, s := range tt.signals {
			sig, leave, words := w.handle(s)
			switch {
			case leave != 0:
				got = append(got, map[int]string{130: "130", 143: "143", 129: "129"}[leave])
			case sig == nil:
				got = append(got, "-")
			case sig.Interrupt:
				got = append(got, "i")
			default:
				got = append(got, "d")
			}
			if sig != nil && sig.Code != 128+event.ExitCode(s.(syscall.Signal)) {
				t.Errorf("%v: %+v", s, *sig)
			}
			if (leave == 0) != (words != "") {
				t.Errorf("%v after %v: %q", s, got, words)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v: %v, want %s", tt.onSignal, tt.signals, got, tt.want)
		}
	}
}

// A request to drain has its effect once, and none after an interruption. A signal after it interrupts.
func TestRequestToDrain(t *testing.T) {
	t.Parallel()
	w := stopRequests{drains: func(os.Signal) bool { return false }}
	if sig, _ := w.drain(); sig == nil || sig.Interrupt || sig.Code != 130 {
		t.Errorf("the first: %+v", sig)
	}
	if sig, words := w.drain(); sig != nil || !strings.Contains(words, "nothing more is started") {
		t.Errorf("the second: %+v, %q", sig, words)
	}
	if sig, leave, _ := w.handle(syscall.SIGTERM); sig == nil || !sig.Interrupt || leave != 0 {
		t.Errorf("SIGTERM: %+v, %d", sig, leave)
	}
	if sig, words := w.drain(); sig != nil || !strings.Contains(words, "interrupted already") {
		t.Errorf("after an interruption: %+v, %q", sig, words)
	}
	if _, leave, _ := w.handle(syscall.SIGTERM); leave != 143 {
		t.Errorf("the second SIGTERM leaves with %d", leave)
	}
}

// Only a wavex that says so is sent the signal that drains, which would end another one.
func TestOnlyAWavexThatDrainsIsSignalled(t *testing.T) {
	t.Parallel()
	if drainSignal == nil {
		t.Skip("this system has no signal that drains")
	}
	host, err := os.Hostname()
	testrepo.Must(t, err)
	got := make(chan os.Signal, 1)
	signal.Notify(got, drainSignal)
	defer signal.Stop(got)
	for _, drains := range []bool{false, true} {
		dir := loop.Dir(t.TempDir())
		lock, err := journal.TryLock(dir, journal.Holder{PID: os.Getpid(), Host: host, Drains: drains})
		testrepo.Must(t, err)
		want := "cannot drain"
		if drains {
			want = "is asked to start nothing more"
		}
		if words := askOwner(dir, false); !strings.Contains(words, want) {
			t.Errorf("drains %t: %q", drains, words)
		}
		if !drains && len(got) > 0 {
			t.Error("an older wavex is sent the signal")
		}
		testrepo.Must(t, lock.Unlock())
	}
	<-got
}
