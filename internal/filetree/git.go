package filetree

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ignoredState marks a file or directory that git ignores, and whose content does not count.
const ignoredState = State("ignored")

// git returns the output of a git command that reads. Programs that the configuration names do not run.
func git(ctx context.Context, dir string, env []string, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" +
		os.DevNull}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(env[:len(env):len(env)], "GIT_OPTIONAL_LOCKS=0"), strings.NewReader(in)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

// gitTree returns the names of the files that count, with the state "", and of the ignored ones. An error means that
// the directory is in no repository, or that git is missing.
func gitTree(ctx context.Context, root string, env []string) (Tree, error) {
	const rules = "--exclude-per-directory=.gitignore"
	files, err := git(ctx, root, env, "", "ls-files", "-z", "--cached", "--others", rules)
	if err != nil || files == "" {
		return nil, err
	}
	ignored, err := git(ctx, root, env, "", "ls-files", "-z", "--others", "--ignored", "--directory", rules)
	if err != nil {
		return nil, err
	}
	t := Tree{}
	for _, name := range splitNUL(ignored) {
		t[strings.TrimSuffix(name, "/")] = ignoredState
	}
	for _, name := range splitNUL(files) {
		t[strings.TrimSuffix(name, "/")] = ""
	}
	maps.DeleteFunc(t, func(name string, _ State) bool { return isOwn(name) })
	t["."] = ignoredState // the mark of a repository, whose rules hold
	return t, nil
}

// rules are the .gitignore files of a tree, in a repository of their own.
type rules struct{ dir string }

func newRules(root string, t Tree, contents func(State) ([]byte, error)) (*rules, error) {
	r := &rules{}
	for name, state := range t {
		if t["."] == "" || path.Base(name) != ".gitignore" || state.Digest() == "" {
			continue
		}
		text, err := contents(state)
		if err != nil {
			r.remove()
			return nil, err
		}
		if r.dir == "" {
			if r.dir, err = os.MkdirTemp("", "wavex-rules-"); err != nil {
				return nil, err
			}
		}
		at := filepath.Join(r.dir, "tree", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, text, 0o600)); err != nil {
			r.remove()
			return nil, err
		}
	}
	return r, nil
}

// ignore returns those of some files and directories that the rules exclude.
func (r *rules) ignore(ctx context.Context, env, names []string) (map[string]bool, error) {
	if r.dir == "" || len(names) == 0 {
		return nil, nil
	}
	at := filepath.Join(r.dir, "git")
	if _, err := os.Stat(at); err != nil {
		if _, err := git(ctx, r.dir, env, "", "init", "-q", "--bare", "--template=", at); err != nil {
			return nil, err
		}
	}
	// A rule for directories matches the files in them.
	ask := strings.Join(names, "\x00") + "\x00" + strings.Join(names, "/x\x00") + "/x\x00"
	out, err := git(ctx, filepath.Join(r.dir, "tree"), env, ask, "--git-dir="+at, "--work-tree=.", "check-ignore", "-z",
		"--no-index", "--stdin")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: none
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range splitNUL(out) {
		all[strings.TrimSuffix(name, "/x")] = true
	}
	return all, nil
}

func (r *rules) remove() {
	if r.dir != "" {
		_ = os.RemoveAll(r.dir) // in the system's folder for temporary files
	}
}

// splitNUL splits a list of names that each end with a NUL.
func splitNUL(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}
