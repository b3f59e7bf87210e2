//go:build unix

package e2e

// Brings the pinned claude CLI into the checkout's ignored .tools folder. It knows npm
// and the layout of the CLI's packages, and nothing of what the tests do with it.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"wavex/internal/proc/proctest"
)

// pinned is the version whose behaviour CLAUDE-CLI facts are about.
const pinned = "2.1.197"

var errNoNPM = errors.New("npm is not on PATH")

// findClaude is the path of the CLI to test, installed into the checkout when missing.
// WAVEX_E2E_CLAUDE names another one, to try a newer version.
func findClaude(ctx context.Context, root string) (string, error) {
	if path := os.Getenv("WAVEX_E2E_CLAUDE"); path != "" {
		return path, nil
	}
	npm, _ := exec.LookPath("npm") // missing: "", and no harm when the CLI is there already
	return install(ctx, filepath.Join(root, ".tools", "claude"), npm)
}

// install brings the CLI into a folder of tools, when it is missing.
//
// npm installs without running the package's install script, which would only link
// the native binary into place of a stub; the native one is executed directly. The
// install goes to a fresh folder that is renamed when whole, under a file lock, so that
// test binaries side by side neither collide nor see half of it.
func install(ctx context.Context, tools, npm string) (string, error) {
	home := filepath.Join(tools, pinned)
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
		return path, nil // the other one did it
	}
	fmt.Fprintf(os.Stderr, "e2e: installing @anthropic-ai/claude-code@%s with npm (240 MB, once)\n", pinned)
	fresh, err := os.MkdirTemp(tools, "fresh-")
	if err != nil {
		return "", fmt.Errorf("making a folder to install into: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }() // gone already when renamed
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", fresh, "--no-save", "--fetch-retries=5", "--no-audit", "--no-fund",
		"--ignore-scripts", "--no-package-lock", "--loglevel=error", "@anthropic-ai/claude-code@"+pinned)
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

// native finds the CLI's executable: npm installs the one optional package that fits
// the platform, beside the wrapper package claude-code itself.
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

// fakeNPM is a stand-in that counts its runs and makes the layout of the packages.
func fakeNPM(t *testing.T, body string) (npm, runs string) {
	t.Helper()
	dir := t.TempDir()
	npm, runs = filepath.Join(dir, "npm"), filepath.Join(dir, "runs")
	script := "#!/bin/sh\necho run >> " + runs + "\nhome=$3/node_modules/@anthropic-ai\n" + body
	proctest.Script(t, npm, script)
	return npm, runs
}

func TestInstallOnceForAll(t *testing.T) {
	t.Parallel()
	npm, runs := fakeNPM(t, "mkdir -p $home/claude-code $home/claude-code-any; : > $home/claude-code-any/claude; chmod +x $home/claude-code-any/claude")
	tools := filepath.Join(t.TempDir(), "tools")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := install(t.Context(), tools, npm)
			if err != nil || filepath.Base(path) != "claude" || !strings.HasPrefix(path, filepath.Join(tools, pinned)) {
				t.Errorf("%q, %v", path, err)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(runs); string(data) != "run\n" {
		t.Errorf("npm ran %d times", strings.Count(string(data), "run"))
	}
	if _, err := install(t.Context(), tools, ""); err != nil {
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
			if path, err := install(t.Context(), tools, npm); err == nil {
				t.Errorf("installed %s", path)
			}
			left, _ := os.ReadDir(tools)
			if len(left) != 1 || left[0].Name() != "lock" {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if _, err := install(t.Context(), t.TempDir(), ""); !errors.Is(err, errNoNPM) {
		t.Errorf("without npm: %v", err)
	}
}
