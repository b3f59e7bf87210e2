//go:build unix

package e2e

// This file chooses the versions of the CLI for each test: tests of money, permission and resume
// run on both, the others on the newest.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wavex/e2e/rig"
	"wavex/internal/claude/statement"
)

// cli is a claude to test.
type cli struct {
	name    string // "oldest", "newest", or "named" for one that the environment names
	path    string
	version string // such as "2.1.332"; "" if it tells none
}

// old reports whether the CLI behaves like the oldest tested one, as those before 2.1.311 do.
func (c cli) old() bool { return c.before("2.1.311") }

// before reports whether the CLI is older than a version.
func (c cli) before(version string) bool {
	v, known := statement.ParseVersion(c.version)
	w, _ := statement.ParseVersion(version)
	return known && v.Less(w)
}

// verdicts returns those on the version; an untested one behaves like the last tested one before it.
func (c cli) verdicts() (v statement.SupportSet) {
	for _, r := range statement.Releases() {
		if !c.before(r.Version) {
			v = r.Support()
		}
	}
	return v
}

// findCLIs returns the CLIs that eachCLI runs on, and installs missing ones into the checkout.
// The last one is for all other tests.
func findCLIs(ctx context.Context, root string) ([]cli, error) {
	named := os.Getenv(rig.CLIVar)
	if strings.ContainsRune(named, filepath.Separator) {
		version, err := versionOf(ctx, named)
		return []cli{{name: "named", path: named, version: version}}, err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		npm = "" // not needed if the CLI exists already
	}
	want := []cli{{name: "oldest", version: statement.Oldest()}, {name: "newest", version: statement.Newest()}}
	if v, ok := statement.ParseVersion(named); ok {
		want = []cli{{name: named, version: v.String()}}
	}
	var found []cli
	for _, c := range want {
		if named != "" && named != c.name {
			continue
		}
		if c.path, err = install(ctx, filepath.Join(root, ".tools", "claude"), c.version, npm); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	if found == nil {
		return nil, fmt.Errorf("%s=%s: want oldest, newest, a version or a path", rig.CLIVar, named)
	}
	return found, nil
}

// versionOf asks a CLI for its version.
func versionOf(ctx context.Context, path string) (string, error) {
	home, err := os.MkdirTemp("", "wavex-e2e-home-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }() // a leftover in the temporary folder is harmless
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	v, _ := statement.ParseVersion(string(out))
	return v.String(), nil
}

// pack encodes the CLIs as one environment variable, for the process in the namespace.
func pack(clis []cli) string {
	var lines []string
	for _, c := range clis {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s", c.name, c.version, c.path))
	}
	return strings.Join(lines, "\n")
}

func unpack(text string) (clis []cli, err error) {
	for l := range strings.SplitSeq(text, "\n") {
		f := strings.SplitN(l, "\t", 3)
		if len(f) != 3 {
			return nil, errors.New("unreadable list of CLIs: " + l)
		}
		clis = append(clis, cli{name: f[0], version: f[1], path: f[2]})
	}
	return clis, nil
}

// eachCLI runs a test on every version, in parallel.
func eachCLI(t *testing.T, test func(t *testing.T, c cli)) {
	t.Helper()
	onCLIs(t, true, test)
}

// onCLIs runs a case of a test on every version if both is set, and on the one of all other tests if not:
// then another case shows what matters on the other version. With rig.CLIVar a case runs on that version in
// either way.
func onCLIs(t *testing.T, both bool, test func(t *testing.T, c cli)) {
	t.Helper()
	clis := shared.clis
	if !both {
		clis = []cli{shared.cli}
	}
	for _, c := range clis {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// per returns the expectation for the version of the CLI.
func per[T any](c cli, onOldest, onNewest T) T {
	if c.old() {
		return onOldest
	}
	return onNewest
}
