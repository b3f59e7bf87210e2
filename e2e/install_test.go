//go:build unix

package e2e

// This file installs a version of the claude CLI into the checkout's ignored .tools folder. It
// knows npm and the layout of the CLI's packages, and not how the tests use it.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"wavex/internal/proc/proctest"
)

var errNoNPM = errors.New("npm is not on PATH")

// install installs a version of the CLI into a folder of tools, if it is missing.
//
// The platform's package contains only the native binary. The package claude-code only links to
// it and requires a version of Node (observed on 2.1.330). The install goes to a fresh folder
// that is renamed when complete, under a file lock, so that parallel test binaries neither
// collide nor see an incomplete one.
func install(ctx context.Context, tools, version, npm string) (string, error) {
	home := filepath.Join(tools, version)
	if path, err := native(home); err == nil {
		return path, nil
	}
	if npm == "" {
		return "", errNoNPM
	}
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return "", fmt.Errorf("making the tools folder: %w", err)
	}
	lock := flock.New(filepath.Join(tools, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another install: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if path, err := native(home); err == nil {
		return path, nil // another process has installed it
	}
	pkg := platformPackage() + "@" + version
	fmt.Fprintf(os.Stderr, "e2e: installing %s with npm (up to 400 MB, once)\n", pkg)
	fresh, err := os.MkdirTemp(tools, "fresh-")
	if err != nil {
		return "", fmt.Errorf("making a folder to install into: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }() // missing if it was renamed
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", fresh, "--no-save", "--fetch-retries=5", "--no-audit",
		"--no-fund",
		"--ignore-scripts", "--no-package-lock", "--loglevel=error", pkg)
	cmd.Dir = fresh // away from any package.json and .npmrc of a project
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if _, err := native(fresh); err != nil {
		return "", err
	}
	if err := os.RemoveAll(home); err != nil {
		return "", fmt.Errorf("removing a broken install: %w", err)
	}
	if err := os.Rename(fresh, home); err != nil {
		return "", fmt.Errorf("putting the install in place: %w", err)
	}
	return native(home)
}

// platformPackage names the npm package with the native binary for this machine.
func platformPackage() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	name := "@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
		name += "-musl"
	}
	return name
}

// native returns the path of the CLI's executable in an install.
func native(home string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(home, "node_modules", "@anthropic-ai", "claude-code-*", "claude"))
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("no native claude package under %s: is there one for this platform?", home)
}

// fakeNPM returns a stand-in that counts its runs and makes the layout of the packages.
func fakeNPM(t *testing.T, body string) (npm, runs string) {
	t.Helper()
	dir := t.TempDir()
	npm, runs = filepath.Join(dir, "npm"), filepath.Join(dir, "runs")
	script := "#!/bin/sh\necho run >> " + runs +
		"\ncase $* in *@anthropic-ai/claude-code-*@1.2.3) ;; *) exit 9;; esac\nhome=$3/node_modules/@anthropic-ai\n" + body
	proctest.Script(t, npm, script)
	return npm, runs
}

func TestInstallOnceForAll(t *testing.T) {
	t.Parallel()
	npm, runs := fakeNPM(t, "mkdir -p $home/claude-code-any; : > $home/claude-code-any/claude; chmod +x $home/claude-code-any/claude")
	tools := filepath.Join(t.TempDir(), "tools")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := install(t.Context(), tools, "1.2.3", npm)
			if err != nil || filepath.Base(path) != "claude" || !strings.HasPrefix(path, filepath.Join(tools, "1.2.3")) {
				t.Errorf("%q, %v", path, err)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(runs); string(data) != "run\n" {
		t.Errorf("npm ran %d times", strings.Count(string(data), "run"))
	}
	if _, err := install(t.Context(), tools, "1.2.3", ""); err != nil {
		t.Errorf("without npm, when it is there already: %v", err)
	}
}

func TestInstallThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"npm fails":         "mkdir -p $home; echo no such package; exit 1",
		"nothing native":    "mkdir -p $home/claude-code",
		"not an executable": "mkdir -p $home/claude-code-any; : > $home/claude-code-any/claude",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			npm, _ := fakeNPM(t, body)
			tools := t.TempDir()
			if path, err := install(t.Context(), tools, "1.2.3", npm); err == nil {
				t.Errorf("installed %s", path)
			}
			left, _ := os.ReadDir(tools)
			if len(left) != 1 || left[0].Name() != "lock" {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if _, err := install(t.Context(), t.TempDir(), "1.2.3", ""); !errors.Is(err, errNoNPM) {
		t.Errorf("without npm: %v", err)
	}
}
