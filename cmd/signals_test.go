package cmd

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/event"
)

// Each row lists the effect of each signal: d drains, i interrupts, a dash sends nothing new to the
// session, a number leaves at once with that code.
func TestStopRequests(t *testing.T) {
	t.Parallel()
	const (
		in   = syscall.SIGINT
		term = syscall.SIGTERM
		hup  = syscall.SIGHUP
	)
	for _, tt := range []struct {
		atOnce  bool
		signals []os.Signal
		want    string
	}{
		{false, []os.Signal{in, in, in}, "d i 130"},
		{false, []os.Signal{in, term, term}, "d i 143"},
		{true, []os.Signal{term, in}, "i 130"},
		{false, []os.Signal{hup, hup, hup, hup}, "i - - -"},
		{true, []os.Signal{hup, hup}, "i -"},
		{false, []os.Signal{in, hup, hup}, "d i -"},
		{false, []os.Signal{in, in, hup}, "d i -"},
		{false, []os.Signal{hup, term, hup}, "i - -"}, // a login that ends
		{false, []os.Signal{hup, term, term, term}, "i - - 143"},
		{true, []os.Signal{hup, term, term}, "i - 143"},
	} {
		w := stopRequests{interruptFirst: tt.atOnce}
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
			t.Errorf("%v: %v, want %s", tt.signals, got, tt.want)
		}
	}
}
