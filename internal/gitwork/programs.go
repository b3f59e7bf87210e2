package gitwork

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/proc"
	"wavex/runner"
)

// This file keeps wavex's git from programs that agents may have made: git stays in the repository that the session
// began in, and runs no hooks of a directory that was missing. Other changes of hooks and configuration are told.

// commonDir is the variable that names git's repository, instead of the commondir file in it.
const commonDir = "GIT_COMMON_DIR"

// inRepository returns a copy of g for one repository, and its directory; "" if it is unknown. A commondir file that an
// agent adds later names another one, whose configuration would run programs; git does not read it then.
func (g git) inRepository(dir string) (git, string) {
	repository, _ := runner.Repository(resolveLinks(dir))
	if repository == "" {
		return g, ""
	}
	return g.withEnv(commonDir + "=" + repository), repository
}

// inAny returns a copy of g that finds its repository, for hooks that do so.
func (g git) inAny() git {
	g.env = slices.DeleteFunc(slices.Clone(g.env), func(e string) bool { return strings.HasPrefix(e, commonDir+"=") })
	return g
}

// forHooks returns g for a command that runs hooks, as they were when the run began. Hooks may work in repositories of
// their own, so their environment does not name a repository. It returns an error if git would find another
// repository than when the session began.
func (m *Manager) forHooks(g git) (git, error) {
	now, _ := runner.Repository(resolveLinks(g.dir))
	if m.repository != "" && resolveLinks(now) != resolveLinks(m.repository) {
		return g, fmt.Errorf("a file of git for %s, such as commondir, names another repository than %s since the session "+
			"began", g.dir, m.repository)
	}
	g = g.inAny()
	for i, e := range g.env {
		g.env[i] = strings.ReplaceAll(e, " 'core.hooksPath="+os.DevNull+"'", "")
	}
	_, paths := runner.Repository(resolveLinks(m.opts.Project))
	moved := slices.ContainsFunc(paths, func(path string) bool { // an agent may have set another directory
		was, known := m.state.Programs[path]
		return known && filepath.Base(path) != "hooks" && was != programDigest(path)
	})
	set := m.settings.value("core.hookspath")
	switch dir := absolute(g.dir, m.hooks); {
	case m.hooksChanged(g.dir):
		return g.withConfig("core.hooksPath=" + m.frozenPath("run")), nil
	case moved || set != "" && !filepath.IsAbs(set) && filepath.IsAbs(m.hooks):
		return g.withConfig("core.hooksPath=" + dir), nil
	}
	return g, nil
}

// notePrograms records for a session the state of the files in which git finds programs to run: its hooks, its
// configuration and that of the user. It warns of changes since the last session of the run began, whose agents may
// have made them. It returns an *Error if there is a commondir file since then: git makes none in a repository that
// exists.
func (m *Manager) notePrograms(old *savedState, session bool) error {
	_, paths := runner.Repository(resolveLinks(m.opts.Project))
	env := func(name, other string) string {
		return cmp.Or(proc.Getenv(m.opts.Env, name), proc.Getenv(m.opts.Env, "HOME")+other)
	}
	paths = append(paths, env("GIT_CONFIG_GLOBAL", "/.gitconfig"), env("XDG_CONFIG_HOME", "/.config")+"/git/config")
	now, changed := map[string]string{}, []string(nil)
	for _, path := range paths {
		now[path] = programDigest(path)
		if old == nil {
			continue
		}
		if was, known := old.Programs[path]; known && was != now[path] { // the project may be in another place now
			if was == "" && filepath.Base(path) == "commondir" {
				return &Error{OtherRepo, path + " was made since the last session began, and names another repository",
					"remove it; an agent may have made it, as git does not"}
			}
			changed = append(changed, path)
		}
	}
	if session {
		m.state.Programs, m.session = now, true
	}
	if len(changed) > 0 {
		m.warn(fmt.Errorf("since the last session began, files changed in which git finds programs to run, and agents may "+
			"have changed them: %s", firstFew(changed)))
	}
	return nil
}

// CheckPrograms looks for changed programs as Reattach does, for a command that does not open the workspace of the run.
// It returns an *Error for a new commondir file, and warns of other changes.
func CheckPrograms(o Options) error {
	old, err := readState(o.Loop.Worktree(o.Run, "json"))
	if err != nil || old == nil {
		return err
	}
	return newManager(o).notePrograms(old, false)
}

// programDigest identifies the content at path as runner.FileDigest does. For a directory of hooks, it includes what
// the files there link to, and which of them may be executed.
func programDigest(path string) string {
	digest := runner.FileDigest("", path)
	hooks, _ := os.ReadDir(path) // none: a file, or unreadable for FileDigest too
	for _, hook := range hooks {
		at := filepath.Join(path, hook.Name())
		link, _ := os.Readlink(at) // "": no link
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			link += fmt.Sprintf(" %o %s", info.Mode().Perm()&0o111, runner.FileDigest("", at))
		}
		sum := sha256.Sum256([]byte(digest + "\x00" + hook.Name() + "\x00" + link))
		digest = "hooks " + hex.EncodeToString(sum[:])
	}
	return digest
}
