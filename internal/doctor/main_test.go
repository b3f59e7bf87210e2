package doctor

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary plays the CLI: it prints the text in FAKE and exits as FAKE says.
func TestMain(m *testing.M) {
	if say, fake := os.LookupEnv("FAKE"); fake {
		args := strings.Join(os.Args[1:], " ")
		switch {
		case args == "auth status":
			fmt.Println(say)
			os.Exit(1)
		case strings.HasPrefix(args, "-p "):
			if say == "wrapper" {
				fmt.Println(`{"type":"control_response","response":{"subtype":"success","request_id":"wavex-hello"}}`)
			}
			os.Exit(0)
		case args != "--version":
			fmt.Println("called with", os.Args[1:])
			os.Exit(9)
		case say == "hang":
			c := make(chan os.Signal, 1)
			signal.Notify(c, os.Interrupt)
			<-c
		case strings.HasPrefix(say, "fail "):
			fmt.Fprintln(os.Stderr, say[5:])
			os.Exit(3)
		}
		fmt.Println(say)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
