//go:build unix

// Package page opens the HTML report and the live page in a real browser, Chromium,
// headless, over its DevTools protocol. It knows the pages as a reader does: what is
// on the screen, what keys do, what the console says.
package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// chromium is the browser's executable, set by TestMain before any test runs.
var chromium string

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var err error
	chromium, err = find(ctx)
	switch {
	case errors.Is(err, errNone) && os.Getenv("CI") == "":
		// go test says "[no tests to run]" when it finds this line, even where it hides the rest.
		fmt.Println("testing: warning: no tests to run")
		fmt.Fprintf(os.Stderr, "\n*** e2e/page: SKIPPED, NOT TESTED: %v; nothing was opened in a browser ***\n\n", err)
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "e2e/page: no browser to test with:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

var errNone = errors.New("no chromium on PATH (WAVEX_E2E_CHROMIUM names one)")

// find looks for the browser. Where CI is set and the system is a Debian that we may
// change, it is installed; on a person's machine nothing is installed unasked.
func find(ctx context.Context) (string, error) {
	if path := os.Getenv("WAVEX_E2E_CHROMIUM"); path != "" {
		return path, nil
	}
	if path := onPath(); path != "" {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 || os.Getenv("CI") == "" {
		return "", errNone
	}
	fmt.Fprintln(os.Stderr, "e2e/page: installing chromium with apt-get (once)")
	for _, args := range [][]string{{"-o", "Acquire::Retries=3", "update", "-qq"}, {"-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"}} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	if path := onPath(); path != "" {
		return path, nil
	}
	return "", errNone
}

func onPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
