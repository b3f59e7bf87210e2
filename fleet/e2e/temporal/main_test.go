// Package temporal_test runs attempts through a real Temporal server, with workers and coordinators that are killed,
// frozen and cut off. These are this test binary, started again; the server is a program of the module in server. Both
// are modules of their own, so that the server is no dependency of wavex.
package temporal_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"wavex/cmd"
	"wavex/fleet"
	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(role(os.Args[1:]))
	}
	testrepo.Main(m)
}

// role makes this process another program than the tests.
func role(args []string) int {
	ctx := context.Background()
	var err error
	switch args[0] {
	case "work":
		go endWithTests()
		err = work(ctx, args[1])
	case "coordinate":
		go endWithTests()
		err = coordinate(ctx, args[1])
	default: // wavex starts itself as watchdog and as rehearsal agent
		return cmd.Main(ctx, args, cmd.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Fleet: fleet.New()})
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// endWithTests ends this process at the end of its input, which is that of the process of the tests.
func endWithTests() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}
