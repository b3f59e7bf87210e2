// Command wavex runs plans of work with headless Claude Code processes.
package main

import (
	"context"
	"os"

	"wavex/cmd"
)

func main() {
	os.Exit(cmd.Main(context.Background(), os.Args[1:], cmd.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
