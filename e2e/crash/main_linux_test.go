package crash

// This file prepares the fixtures of all tests: the wavex binary, built once, and a private mount
// namespace for full disks.

import (
	"os"
	"testing"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
)

// shared is set by TestMain before any test runs and is read-only afterwards.
var shared struct {
	wavex  string // the executable
	mounts bool   // the process is in a private mount namespace
}

func TestMain(m *testing.M) {
	if os.Getenv(bulkVar) != "" {
		os.Exit(bulkAgent(os.Stdin, os.Stdout))
	}
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	rig.MainWithMounts("crash", func(wavex string, mounts bool) int {
		shared.wavex, shared.mounts = wavex, mounts
		return rig.Run(m, "crash", 8) // most of them wait for processes
	})
}

// newProject returns a project with a plan. Its runs have no reviews, which are many processes.
func newProject(t *testing.T, plan string) scratch.Project {
	t.Helper()
	dir := t.TempDir()
	p := scratch.Project{T: t, Wavex: shared.wavex, Dir: dir, Home: dir,
		Flags: []string{"--review", "off", "--accept-assumptions"}}
	p.Write("plan.json", plan)
	return p
}
