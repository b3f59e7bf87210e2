package statefiles

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/scheduler"
)

// writerVar makes the test binary a writer that will be killed; see kill_unix_test.go.
const writerVar = "WAVEX_TEST_PROJECTIONS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVar); dir != "" {
		writeForever(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// killVar is the number of the file before which the writer kills itself.
const killVar = "WAVEX_TEST_KILL_BEFORE"

// writeForever plays a run and writes its files after each event, until it is killed.
func writeForever(dir string) {
	left := int(os.Getenv(killVar)[0] - '0')
	st := fileStore{dir: loop.Dir(dir), beforeWrite: func(string) {
		if left == 0 {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		left--
	}}
	var b model
	for {
		reporttest.MixedRun(quiet{}, func(e event.Event, s *scheduler.State) {
			b.update(e, s)
			if err := st.write(&b); err != nil {
				panic(err)
			}
		})
	}
}

// quiet is a testing.TB outside a test.
type quiet struct{ testing.TB }

func (quiet) Helper() {}
