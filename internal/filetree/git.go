package filetree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/proc"
)

// ignoredState marks a directory that git ignores, and whose content does not count. ignoredFile begins the state of
// a file that git ignores, which is not part of the work.
const (
	ignoredState = State("ignored")
	ignoredFile  = ignoredState + " "
)

// above names the place of the directory in its repository, with belowState and a path that is empty at the top. Names
// of the tree that begin with it are of the .gitignore files above the directory. They do not change.
const (
	above      = ".."
	belowState = "below "
)

// git returns the output of a git command that reads, to which it gives in. Programs that the configuration names do
// not run. An exit code but 0 and 1 is an error, as is a stop.
func git(ctx context.Context, dir string, env []string, in string, args ...string) (string, error) {
	argv := append([]string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.excludesFile=" + os.DevNull}, args...)
	var out bytes.Buffer
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: dir, Env: append(slices.Clip(env), "GIT_OPTIONAL_LOCKS=0"),
		Stdin: true, Combined: io.Discard, Stdout: &out, EndsOnTerm: true})
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { p.Stop(time.Second) })()
	_, _ = io.WriteString(p.Stdin, in) // a git that does not read it has failed
	_ = p.Stdin.Close()
	if exit := p.Wait(); exit.Code != 0 && exit.Code != 1 {
		err = fmt.Errorf("git %s: exit code %d", strings.Join(args, " "), exit.Code)
	}
	return out.String(), cmp.Or(context.Cause(ctx), err)
}

// gitTree returns the names of the files that count, with the state "", and of the ignored ones, and the ids of the
// contents that git has. The tree is empty if git finds no repository that it trusts, or nothing in it that counts.
func gitTree(ctx context.Context, root string, env []string) (Tree, map[string]bool) {
	const rules = "--exclude-per-directory=.gitignore"
	files, err := git(ctx, root, env, "", "ls-files", "-z", "--stage", "--others", rules)
	ignored, ierr := git(ctx, root, env, "", "ls-files", "-z", "--others", "--ignored", "--directory", rules)
	prefix, perr := git(ctx, root, env, "", "rev-parse", "--show-prefix")
	if errors.Join(err, ierr, perr) != nil || files == "" {
		return nil, nil
	}
	t, blobs := Tree{}, map[string]bool{}
	names := splitNUL(ignored)
	for i, name := range names {
		if dir, is := strings.CutSuffix(name, "/"); is {
			// git also names a folder that holds nothing but ignored files, and then the files
			if i+1 == len(names) || !strings.HasPrefix(names[i+1], name) {
				t[dir] = ignoredState
			}
		} else {
			t[name] = ignoredFile
		}
	}
	for _, entry := range splitNUL(files) { // "100644 ID 0\tNAME", or the name of a file that git does not know
		about, name, tracked := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); tracked && len(fields) == 3 {
			blobs[fields[1]] = true
		} else {
			name = entry
		}
		t[strings.TrimSuffix(name, "/")] = ""
	}
	temp := tempIn(root)
	maps.DeleteFunc(t, func(name string, _ State) bool { return isOwn(name, temp) })
	t["."] = ignoredState // the mark of a repository, whose rules hold
	t[above] = State(belowState + strings.TrimSuffix(prefix, "\n"))
	for depth := range strings.Count(prefix, "/") {
		name := strings.Repeat(above+"/", depth+1) + ".gitignore"
		if exists(filepath.Join(root, filepath.FromSlash(name))) {
			t[name] = ""
		}
	}
	return t, blobs
}

// HasRepository reports whether a directory may be in a git checkout: it or a folder above it has a .git that git takes
// for one. It starts no git.
func HasRepository(dir string) bool {
	for dir = resolved(dir); ; dir = filepath.Dir(dir) {
		if IsRepository(filepath.Join(dir, ".git")) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// resolved returns a path without symbolic links.
func resolved(dir string) string {
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		return to
	}
	return dir
}

// tempIn returns the beginning of the paths of wavex's temporary folders in root; "": TMPDIR is not there.
func tempIn(root string) string {
	temp, err := filepath.Rel(root, resolved(os.TempDir()))
	if err != nil || !filepath.IsLocal(temp) || temp == "." {
		return ""
	}
	return filepath.ToSlash(temp) + "/wavex-"
}

// IsRepository reports whether git stops at a .git when it looks upward: at a file, and at a folder with a HEAD,
// objects and refs, of which a worktree has the last two elsewhere. It passes by any other folder, as an empty one.
func IsRepository(dot string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dot, name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	st, err := os.Stat(dot)
	return err == nil && !st.IsDir() || has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// rules are the .gitignore files of a tree, and those above it.
type rules struct {
	prefix string // the place of the tree in the repository: "a/b/"; "": its top
	texts  map[string][]byte
}

func newRules(t Tree, contents func(State) ([]byte, error)) (rules, error) {
	r := rules{strings.TrimPrefix(string(t[above]), belowState), map[string][]byte{}}
	for name, state := range t {
		local := filepath.FromSlash(path.Join(r.prefix, name))
		if t["."] != "" && path.Base(name) == ".gitignore" && state.Digest() != "" && filepath.IsLocal(local) {
			text, err := contents(state)
			if err != nil {
				return rules{}, err
			}
			r.texts[local] = text
		}
	}
	return r, nil
}

// ignore returns those of some files and directories that the rules exclude. It asks git in a repository that has
// only the rules.
func (r rules) ignore(ctx context.Context, env, names []string) (map[string]bool, error) {
	if len(r.texts) == 0 || len(names) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "wavex-rules-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the system's folder for temporary files
	dot, tree := filepath.Join(dir, "git"), filepath.Join(dir, "tree")
	err = errors.Join(os.MkdirAll(filepath.Join(dot, "objects"), 0o700), os.MkdirAll(filepath.Join(dot, "refs"), 0o700),
		os.WriteFile(filepath.Join(dot, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	for name, text := range r.texts {
		at := filepath.Join(tree, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, text, 0o600))
	}
	// A rule for directories matches the files in them.
	var ask strings.Builder
	for _, name := range names {
		ask.WriteString(r.prefix + name + "\x00" + r.prefix + name + "/x\x00")
	}
	out, failed := git(ctx, tree, env, ask.String(), "--git-dir="+dot, "--work-tree=.", "check-ignore", "-z", "--no-index",
		"--stdin")
	all := map[string]bool{}
	for _, name := range splitNUL(out) {
		all[strings.TrimSuffix(strings.TrimPrefix(name, r.prefix), "/x")] = true
	}
	return all, errors.Join(err, failed)
}

// splitNUL splits a list of names that each end with a NUL.
func splitNUL(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}
