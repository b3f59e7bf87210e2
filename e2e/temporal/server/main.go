// Command server is a Temporal server in memory for the tests beside it, until its input ends. It says its address and
// its namespace. It is a module of its own, because its dependencies and those of wavex exclude each other.
package main

import (
	"fmt"
	"io"
	"os"

	"go.temporal.io/server/temporaltest"
)

func main() {
	s := temporaltest.NewServer()
	fmt.Println(s.GetFrontendHostPort(), s.GetDefaultNamespace())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(1)
	}
}
