package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// This file keeps the hooks and the user's settings of wavex's git as they were when the run began: tasks may change
// both. Hooks that did not change run in their place, since they may use files beside it.

const maxHook = 1 << 20 // bytes of a file that is kept

// frozenPath returns a path in the folder of what wavex's git had when the run began.
func (m *Manager) frozenPath(name string) string {
	return filepath.Join(m.opts.Loop.Worktree(m.opts.Run, "git"), "start", name)
}

// frozenHooks returns the directory of the hooks that were there when the run began.
func (m *Manager) frozenHooks() string {
	return filepath.Join(m.frozenPath("hooks"), filepath.Base(m.hooks))
}

// hookFiles returns the files of a directory of hooks in a working tree, with their content: those in it, and those
// beside it if the folder above belongs to the hooks, as with husky.
func (m *Manager) hookFiles(dir, top string) map[string]string {
	all, dirs := map[string]string{}, []string{dir}
	above, _ := filepath.Rel(resolveLinks(top), resolveLinks(filepath.Dir(dir)))
	inGit, _ := filepath.Rel(m.checkout.common, dir)
	if above != "." && filepath.IsLocal(above) && !filepath.IsLocal(inGit) {
		dirs = append(dirs, filepath.Dir(dir))
	}
	for _, in := range dirs {
		entries, _ := os.ReadDir(in) // there may be none
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(in, e.Name()))
			if err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) != ".sample" {
				text, _ := safefile.ReadHead(filepath.Join(in, e.Name()), maxHook) // git runs no hook that is cut off
				name, _ := filepath.Rel(filepath.Dir(dir), filepath.Join(in, e.Name()))
				all[name] = fmt.Sprintf("%o\n%s", info.Mode().Perm()&0o100, text)
			}
		}
	}
	return all
}

// liveHooks returns the hooks that git would run in a working tree.
func (m *Manager) liveHooks(top string) map[string]string {
	if filepath.IsAbs(m.hooks) {
		return m.hookFiles(m.hooks, m.checkout.top)
	}
	return m.hookFiles(absolute(top, m.hooks), top)
}

// freeze keeps a copy of the hooks in the working tree top unless there is one, and of the user's settings. From then
// on wavex's git runs no hooks, except by forHooks.
func (m *Manager) freeze(ctx context.Context, top string) error {
	at := m.frozenPath("hooks")
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		half := at + ".new"
		err := safefile.RemoveAll(half)
		files := m.liveHooks(top)
		err = errors.Join(err, safefile.MkdirAll(filepath.Join(half, filepath.Base(m.hooks)), 0o700))
		for name, text := range files {
			mode, text, _ := strings.Cut(text, "\n")
			perm := map[bool]os.FileMode{true: 0o600, false: 0o700}[mode == "0"]
			err = errors.Join(err, safefile.Replace(filepath.Join(half, name), []byte(text), perm, true))
		}
		if err = errors.Join(err, safefile.Rename(half, at)); err != nil {
			return err
		}
	}
	if err := chainHooks(m.frozenPath("run"), m.frozenHooks()); err != nil {
		return err
	}
	m.hooksChanged(m.checkout.top)
	m.g = m.g.withoutHooks()
	return m.freezeSettings(ctx)
}

// hooksChanged reports whether the hooks in a working tree are others than when the run began. It warns once.
func (m *Manager) hooksChanged(top string) bool {
	now := m.liveHooks(top)
	_, unknown := os.Lstat(m.frozenPath("hooks"))
	if unknown != nil || maps.Equal(now, m.hookFiles(m.frozenHooks(), m.frozenPath(""))) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.toldHooks && len(now) > 0 {
		m.toldHooks = true
		m.warn(fmt.Errorf("the hooks in %s changed since the run began, and a task may have changed them: wavex runs them "+
			"as they were; to accept them: rm -r %s", absolute(top, m.hooks), plan.ShellQuote(m.frozenPath("hooks"))))
	}
	return true
}

// freezeSettings keeps the settings of the user and the system, unless an earlier session did or the run began without.
func (m *Manager) freezeSettings(ctx context.Context) error {
	at := m.frozenPath("config")
	if _, err := os.Lstat(at); err == nil || m.state.Why != "" {
		return nil
	}
	out, err := m.g.output(ctx, "config", "--list", "--show-scope", "-z")
	var text strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for pair := range slices.Chunk(splitNUL(out), 2) {
		name, value, set := strings.Cut(pair[len(pair)-1], "\n")
		first, last := strings.Index(name, "."), strings.LastIndex(name, ".")
		if pair[0] != "global" && pair[0] != "system" || first < 0 {
			continue
		}
		section, line := name[:first], name[last+1:]
		if section == "include" || section == "includeif" {
			continue // the settings of included files are listed themselves
		}
		if first < last {
			section += ` "` + quote.Replace(name[first+1:last]) + `"`
		}
		if set {
			line += ` = "` + quote.Replace(value) + `"`
		}
		fmt.Fprintf(&text, "[%s]\n\t%s\n", section, line)
	}
	if err = errors.Join(err, safefile.Replace(at, []byte(text.String()), 0o600, true)); err == nil {
		m.useFrozenSettings()
	}
	return err
}

// useFrozenSettings makes wavex's git read the settings that were kept. A git before 2.32 reads those of now.
func (m *Manager) useFrozenSettings() {
	at := m.frozenPath("config")
	if _, err := os.Lstat(at); err == nil && slices.Compare(m.checkout.version[:], []int{2, 32}) >= 0 {
		m.g = m.g.withEnv("GIT_CONFIG_GLOBAL="+at, "GIT_CONFIG_NOSYSTEM=1")
	}
}
