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
	"time"

	"github.com/gofrs/flock"
)

// pinned is the version whose behaviour CLAUDE-CLI facts are about.
const pinned = "2.1.197"

var errNoNPM = errors.New("npm is not on PATH")

// claudeBinary is the path of the CLI, installed when missing. WAVEX_E2E_CLAUDE names
// another one, to try a newer version.
//
// npm installs without running the package's install script, which would only link
// the native binary into place of a stub; the native one is executed directly. The
// install goes to a fresh folder that is renamed when whole, under a file lock, so that
// test binaries side by side neither collide nor see half of it.
func claudeBinary(ctx context.Context, root string) (string, error) {
	if path := os.Getenv("WAVEX_E2E_CLAUDE"); path != "" {
		return path, nil
	}
	tools := filepath.Join(root, ".tools", "claude")
	home := filepath.Join(tools, pinned)
	if path, err := native(home); err == nil {
		return path, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
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
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", fresh, "--no-save", "--no-audit", "--no-fund",
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
