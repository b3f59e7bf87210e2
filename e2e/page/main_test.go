//go:build unix

// Package page opens the HTML report and the live page in a real browser, headless Chromium, over
// its DevTools protocol. It tests the pages from a reader's view: the screen, the keys, the
// console.
package page

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"wavex/e2e/rig"
)

// chromium is the browser's executable, set by TestMain before any test runs.
var chromium string

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	chromium = rig.Browser()
	switch {
	case chromium == "" && os.Getenv("CI") == "":
		// go test says "[no tests to run]" when it finds this line, even where it hides the rest.
		fmt.Println("testing: warning: no tests to run")
		fmt.Fprintln(os.Stderr, "\n*** e2e/page: SKIPPED, NOT TESTED: no Chromium on PATH (WAVEX_E2E_CHROMIUM names one) ***")
		os.Exit(0)
	case chromium == "":
		fmt.Fprintln(os.Stderr, "e2e/page: no Chromium on PATH (WAVEX_E2E_CHROMIUM names one)")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
