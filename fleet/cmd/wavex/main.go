// Command wavex is the whole wavex: the core, workers and traces.
package main

import (
	"context"
	"os"

	"wavex/cmd"
	"wavex/fleet"
)

func main() {
	os.Exit(cmd.Main(context.Background(), os.Args[1:],
		cmd.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Fleet: fleet.New()}))
}
