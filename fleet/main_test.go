package fleet

import (
	"context"
	"os"
	"strings"
	"testing"

	"wavex/cmd"
	"wavex/internal/testrepo"
)

// TestMain makes this process the tests, or wavex, as which it starts itself, or a run with an engine in memory.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == "coordinate":
		os.Exit(coordinate(args[1:]))
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		os.Exit(cmd.Main(context.Background(), args, cmd.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Fleet: New()}))
	}
	testrepo.Main(m)
}
