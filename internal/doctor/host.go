package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// Disk thresholds, in bytes. A run's own files are small; builds and tests are not.
const (
	minFreeDisk = 100 << 20
	lowFreeDisk = 1 << 30
)

// Disk reports whether the project directory can be written and has space.
func Disk(dir string) Check {
	const name = "disk"
	if !writable(dir) {
		return failCheck(name, dir+" cannot be written", "give the user that runs wavex the right to write there")
	}
	free, _, known := proc.DiskFree(dir)
	return diskCheck(free, known)
}

func diskCheck(free uint64, known bool) Check {
	const name, fix = "disk", "make room; agents build and test here"
	switch {
	case !known:
		return okCheck(name, "free space is not known on this system")
	case free < minFreeDisk:
		return failCheck(name, proc.FormatSize(free)+" free", fix)
	case free < lowFreeDisk:
		return warnCheck(name, proc.FormatSize(free)+" free", fix)
	}
	return okCheck(name, proc.FormatSize(free)+" free")
}

// memoryPerProcess is the memory of a CLI process in bytes (observed on claude 2.1.330: about 195 MB),
// without the commands that it runs.
const memoryPerProcess = 200 << 20

// Memory reports whether parallel CLI processes fit into memory. free is the available memory in
// bytes; 0 means unknown.
func Memory(free int64, parallel int) Check {
	const name = "memory"
	need := int64(parallel) * memoryPerProcess
	switch {
	case free <= 0:
		return okCheck(name, "free memory is not known on this system")
	case need > free:
		return warnCheck(name, fmt.Sprintf("%s free, and %d side by side need %s", proc.FormatSize(uint64(free)), parallel,
			proc.FormatSize(uint64(need))),
			fmt.Sprintf("use -j %d", max(1, free/memoryPerProcess)))
	}
	return okCheck(name, fmt.Sprintf("%s free, enough for %d side by side", proc.FormatSize(uint64(free)), parallel))
}

// Wall reports whether agents can work behind bubblewrap; err says why they cannot.
func Wall(err error) Check {
	const name, losses = "wall", "programs with rights of another user do not work behind it: sudo, su, rootless podman"
	if err != nil {
		return okCheck(name, "none: "+err.Error()+"; only the text of commands and the changes of an attempt are looked at")
	}
	return okCheck(name, "bubblewrap keeps agents from writing protected paths; "+losses)
}

// StrictWall is Wall for settings that ask for a strict one: without it no run starts.
func StrictWall(err error) Check {
	const name = "wall"
	if err != nil {
		return failCheck(name, "none, and the settings have `sandbox: strict`: "+err.Error(),
			"install bubblewrap, or remove `sandbox: strict`")
	}
	return okCheck(name, "bubblewrap keeps tasks from writing all but their tree, and checks and commands from the "+
		"network; programs with rights of another user do not work behind it")
}

// Lock reports whether a run could start in a run folder; err says which run holds it, or why that is not known.
func Lock(err error) Check {
	const name = "lock"
	if err != nil {
		return failCheck(name, err.Error(), "`wavex status` shows where a run stands; else see who may read and write .loop")
	}
	return okCheck(name, "no other wavex works here")
}

// Git reports the state of the repository that a directory is in. It never prevents a run; it
// tells which changes can be seen and undone afterwards.
func Git(ctx context.Context, dir string, env []string, wait time.Duration) Check {
	const name = "git"
	const fix = "commit or set them aside first, so that the agents' work can be told from yours"
	git := func(args ...string) (string, error) {
		return runOutput(ctx, programRun{argv: append([]string{"git", "--no-optional-locks"}, args...), dir: dir, env: env},
			wait)
	}
	said, err := git("rev-parse", "--is-inside-work-tree")
	_, owner, isOther := strings.Cut(said, "safe.directory ") // git names the repository, of which dir may be a part
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return warnCheck(name, "git is not there, so changes cannot be looked at or taken back", "install git")
	case errors.Is(err, errNoAnswer):
		return warnCheck(name, "git gave no answer in "+wait.String(), "try `git status` by hand")
	case isOther:
		return warnCheck(name, "git refuses the repository of another user, so changes cannot be looked at or taken back",
			"git config --global --add safe.directory "+textfmt.FirstLine(owner))
	case err != nil || strings.TrimSpace(said) != "true":
		return warnCheck(name, dir+" is in no git repository, so changes cannot be looked at or taken back",
			"git init, and commit what is there")
	}
	said, err = git("status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return warnCheck(name, "git status: "+err.Error()+": "+firstLine(said), "try it by hand")
	}
	n := strings.Count(said, "\n")
	switch {
	case n == 1:
		return warnCheck(name, "a repository with 1 uncommitted change", fix)
	case n > 1:
		return warnCheck(name, fmt.Sprintf("a repository with %d uncommitted changes", n), fix)
	}
	return okCheck(name, "a clean repository")
}
