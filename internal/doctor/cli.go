package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"wavex/internal/lazy"
	"wavex/internal/proc"
)

// Version is a release of the CLI; the zero value is an unknown one.
type Version struct{ Major, Minor, Patch int }

// Oldest is the oldest CLI that wavex works with. Everything wavex relies on was
// observed on 2.1.197; the flags it passes exist since 2.1.
var Oldest = Version{Major: 2, Minor: 1}

// MovesSections tells whether the CLI knows --exclude-dynamic-system-prompt-sections. It came
// with 2.1.98; 2.1.97 ends at once with "unknown option" (tried on both). An unknown CLI does not.
func (v Version) MovesSections() bool { return !v.Less(Version{Major: 2, Minor: 1, Patch: 98}) }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less tells whether v is the older one.
func (v Version) Less(w Version) bool {
	switch {
	case v.Major != w.Major:
		return v.Major < w.Major
	case v.Minor != w.Minor:
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

const number = `(?:^|[^0-9.])v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})`

var (
	versionRE = lazy.Regexp(number + `(?:[^0-9.]|$)`)
	namedRE   = lazy.Regexp(number + ` \(Claude Code\)`)
)

// ParseVersion finds the version in what `claude --version` prints ("2.1.197 (Claude Code)"),
// also behind what a wrapper says of versions of its own; without that name the first one
// counts. It is false when there is none.
func ParseVersion(text string) (Version, bool) {
	m := namedRE().FindStringSubmatch(text)
	if m == nil {
		m = versionRE().FindStringSubmatch(text)
	}
	if m == nil {
		return Version{}, false
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // at most six digits
	}
	return Version{n[0], n[1], n[2]}, true
}

// Install says how a person gets the CLI.
const Install = "npm install -g @anthropic-ai/claude-code"

// CLI asks a program for its version, which is the zero one where it does not tell it. argv is the program and what precedes its
// flags, env the environment its attempts would have. It fails when the program cannot
// be started, does not answer within wait, or is too old; an answer without a version
// is a warning, since a wrapper may print what it likes.
func CLI(ctx context.Context, argv, env []string, wait time.Duration) (Version, Check) {
	said, err := output(ctx, append(argv[:len(argv):len(argv)], "--version"), "", env, wait)
	if err != nil {
		return Version{}, silent(argv[0], said, err, wait)
	}
	v, known := ParseVersion(said)
	switch {
	case !known:
		return v, warn(cliCheck, fmt.Sprintf("%s tells no version: %q", argv[0], first(said)), "see that it is the claude CLI")
	case v.Less(Oldest):
		return v, wrong(cliCheck, fmt.Sprintf("%s is version %s; wavex needs %s or later", argv[0], v, Oldest), "update it with: "+Install+"@latest")
	}
	return v, ok(cliCheck, fmt.Sprintf("%s, version %s", argv[0], v))
}

const cliCheck = "cli"

// silent says why a program did not tell its version.
func silent(program, said string, err error, wait time.Duration) Check {
	const name = cliCheck
	var start *proc.StartError
	switch {
	case errors.As(err, &start) && errors.Is(err, fs.ErrNotExist):
		return wrong(name, program+" is not there", "install it with: "+Install)
	case errors.As(err, &start):
		return wrong(name, err.Error(), "see that it is the CLI and may be executed, or install it with: "+Install)
	case errors.Is(err, errSilent):
		return wrong(name, fmt.Sprintf("%s --version gave no answer in %s", program, wait), "try it by hand; something holds it up")
	}
	return wrong(name, fmt.Sprintf("%s --version: %v: %s", program, err, first(said)), "try it by hand; install it again with: "+Install)
}

// errSilent says that a program did not end in its time.
var errSilent = errors.New("no answer in time")

// output runs a program to its end and gives what it printed, both streams, at most
// maxOutput bytes.
func output(ctx context.Context, argv []string, dir string, env []string, wait time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errSilent)
	defer cancel()
	var b head
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: dir, Env: env, Combined: &b})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill() // it may have ended by now
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil && exit.Signal != "":
		return "", context.Cause(ctx)
	case exit.Signal != "":
		return b.String(), fmt.Errorf("ended by %s", exit.Signal)
	case exit.Code != 0:
		return b.String(), fmt.Errorf("exit status %d", exit.Code)
	}
	return b.String(), nil
}

const maxOutput = 64 << 10

// head keeps the first maxOutput bytes and takes the rest without keeping them.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxOutput-h.Len())])
	return len(p), nil
}

// first is the first line of a text, bounded.
func first(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "..."
	}
	return strings.TrimSpace(line)
}
