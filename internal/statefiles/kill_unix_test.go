//go:build unix

package statefiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// A writer that is killed at any moment leaves readable and valid files. The test binary is the
// writer. It either kills itself before the Nth file, or the test kills it at a random moment.
func TestKilledBetweenWrites(t *testing.T) {
	t.Parallel()
	workflow, linear := jsonschematest.New(t, WorkflowSchema()), jsonschematest.New(t, LinearSchema())
	self, err := os.Executable()
	testrepo.Must(t, err)
	for n := range 7 {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), writerVar+"="+dir, killVar+"="+string(rune('0'+n)))
		out, err := cmd.CombinedOutput()
		if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !st.Signaled() {
			t.Fatalf("the writer was not killed: %v\n%s", err, out)
		}
		for i, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			switch {
			case err != nil && n <= i: // killed before the file was written for the first time
			case err != nil:
				t.Errorf("killed before write %d: %v", n, err)
			case name == loop.WorkflowFile:
				valid(t, workflow, text)
			case name == loop.LinearFile:
				valid(t, linear, text)
			case len(text) == 0:
				t.Errorf("killed before write %d: %s is empty", n, name)
			}
		}
		// The next wavex repairs everything.
		s := reporttest.MixedRun(t, nil)
		if err := Rebuild(loop.Dir(dir), nil, s.S); err != nil {
			t.Errorf("killed before write %d, then: %v", n, err)
		}
	}
}
