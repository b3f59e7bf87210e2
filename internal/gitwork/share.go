package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file brings files into a worktree that are not in git: the shares and the results of Setup.
// It knows no task.

// share is one entry of Options.Share.
type share struct {
	path string // relative to the project, clean, with slashes
	copy bool
}

func parseShare(s string) share {
	p, copied := strings.CutPrefix(s, "copy:")
	return share{filepath.ToSlash(filepath.Clean(filepath.FromSlash(strings.TrimSpace(p)))), copied}
}

// checkShare returns an error for a share that does not exist or would hide a file that git tracks.
func (m *Manager) checkShare(ctx context.Context, s string) error {
	p := parseShare(s).path
	bad := func(why, fix string) error { return &Error{BadShare, "share " + p + " " + why, fix} }
	if p == "." || !filepath.IsLocal(filepath.FromSlash(p)) {
		return bad("is not below the project", "shares are relative to it")
	}
	if _, err := os.Stat(filepath.Join(m.opts.Project, filepath.FromSlash(p))); err != nil {
		return bad("is not there", "make it, or take it off the list")
	}
	tracked, err := m.g.output(ctx, "ls-files", "-z", "--", ":(top,literal)"+m.repoPath(p))
	if err != nil {
		return err
	}
	if tracked != "" {
		return bad("is in git", "every worktree has it already")
	}
	return nil
}

// inShare reports whether a path of the repository is in a share.
func (m *Manager) inShare(path string) bool {
	for _, s := range m.opts.Share {
		p := m.repoPath(parseShare(s).path)
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// addShares links or copies the shares into a worktree. It skips a share that exists there: a reused
// worktree keeps the files that git ignores.
func (m *Manager) addShares(ctx context.Context, t *tree) error {
	for _, entry := range m.opts.Share {
		s := parseShare(entry)
		from := filepath.Join(m.opts.Project, filepath.FromSlash(s.path))
		to := filepath.Join(m.treePathOf(t), filepath.FromSlash(m.repoPath(s.path)))
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			if s.copy {
				err = safefile.CopyTree(ctx, from, to, nil)
			} else {
				err = os.Symlink(from, to)
			}
		}
		if err != nil {
			return fmt.Errorf("sharing %s: %w", s.path, err)
		}
	}
	return nil
}

// setupOf identifies the setup of a worktree by its command, and by the contents of the files whose change makes it run
// again. Without such files it uses the commit.
func (m *Manager) setupOf(ctx context.Context, t *tree) (string, error) {
	files, err := t.Base, error(nil)
	if len(m.opts.Setup.When) > 0 {
		find := []string{"ls-files", "-s", "-z", "--"}
		for _, pattern := range m.opts.Setup.When {
			find = append(find, ":(top,glob)"+m.repoPath(pattern))
		}
		files, err = m.gitIn(t).output(ctx, find...)
	}
	sum := sha256.Sum256([]byte(m.opts.Setup.Run + "\x00" + files))
	return hex.EncodeToString(sum[:16]), err
}

// runSetup runs the setup command in a worktree that is new, or after one of its files has changed.
func (m *Manager) runSetup(ctx context.Context, t *tree) error {
	if m.opts.Setup.Run == "" {
		return nil
	}
	made, err := m.setupOf(ctx, t)
	if err != nil || t.Setup == made {
		return err
	}
	env, leave := m.SlotEnv(firstSetupSlot + t.ID)
	defer leave()
	dir := filepath.Join(m.treePathOf(t), filepath.FromSlash(m.checkout.prefix))
	at := m.checks.At(dir, "", fmt.Sprintf("wavex-setup-%d/1", t.ID), env)
	exit, out, err := at.Command(ctx, m.opts.Setup.Run, nil, nil)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if exit.Code != 0 {
		return fmt.Errorf("setup %q ended with exit code %d %s: %s", m.opts.Setup.Run, exit.Code, exit.Signal,
			textfmt.OneLine(out.String(), 600))
	}
	t.Setup = made
	return nil
}

// firstSetupSlot is the first slot that no attempt uses. Setups and integrations use it and the slots
// after it.
const firstSetupSlot = 1000
