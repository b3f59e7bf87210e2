package check_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain turns the test binary into the commands of checks, so that the tests need no tools of
// the machine.
func TestMain(m *testing.M) {
	switch os.Getenv("VERIFY_STANDIN") {
	case "flood":
		line := strings.Repeat("x", 1023) + "\n"
		fmt.Print("first line\n")
		for range 64 << 10 { // 64 MB
			fmt.Print(line)
		}
		fmt.Print("last line\n")
		os.Exit(0)
	case "hang":
		fmt.Println("ready")
		<-time.After(time.Hour) // the runtime reports a bare select {} as a deadlock
	}
	goleak.VerifyTestMain(m)
}
