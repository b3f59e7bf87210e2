package gitwork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file keeps the commits of a run in .loop as one git bundle, written anew at each save, so that .loop is enough
// to continue the run in another clone. restore.go brings them back.

const (
	maxBundle     = 128 << 20       // bytes
	bundleTimeout = 2 * time.Minute // for writing it
)

var errBundleTimeout = fmt.Errorf("it took longer than %s", bundleTimeout)

// bundle is the file of one run. The methods are safe for concurrent use.
type bundle struct {
	path     string
	prefixes []string     // of the refs whose commits are saved
	changes  atomic.Int64 // changes of these refs, and one for those before the session

	mu     sync.Mutex
	most   int   // bytes of a bundle
	saved  int64 // the number of changes that the file has
	broken bool  // a save failed; nothing more is saved
}

func newBundle(path string, prefixes ...string) *bundle {
	b := &bundle{path: path, prefixes: prefixes, most: maxBundle}
	b.changes.Store(1)
	return b
}

// owns reports whether the commits of a ref are saved.
func (b *bundle) owns(ref string) bool {
	return slices.ContainsFunc(b.prefixes, func(p string) bool { return strings.HasPrefix(ref, p) })
}

// note is told of each ref that was changed.
func (b *bundle) note(ref string) {
	if b.owns(ref) {
		b.changes.Add(1)
	}
}

// save writes the commits of the run's refs that base does not have, unless the file has them. Before that it calls
// prepare. The error is the cause of ctx's end, or else it is reported once: nothing more is saved then.
func (b *bundle) save(ctx context.Context, g git, base string, prepare func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := b.changes.Load()
	if b.broken || b.saved == changes {
		return nil
	}
	err := prepare()
	if err == nil {
		err = b.write(ctx, g, base)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	b.saved, b.broken = changes, err != nil
	return err
}

func (b *bundle) write(ctx context.Context, g git, base string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bundleTimeout, errBundleTimeout)
	defer cancel()
	args := []string{"bundle", "create", "-q", "-"}
	for _, p := range b.prefixes {
		args = append(args, "--glob="+p+"*")
	}
	g.most = b.most + 1
	data, err := g.runOnce(ctx, "", append(args, "^"+base))
	var failed *gitError
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.stderr, "empty bundle"): // commits of the user
		return nil
	case err != nil:
		return err
	case len(data) > b.most:
		return fmt.Errorf("they are larger than %d MB", maxBundle>>20)
	}
	return errors.Join(safefile.MkdirAll(filepath.Dir(b.path), 0o700),
		safefile.Replace(b.path, []byte(data), 0o600, true))
}

// files returns the file, or those of a version that wrote several, in their order.
func (b *bundle) files() ([]string, error) {
	if _, err := os.Lstat(b.path); err == nil {
		return []string{b.path}, nil
	}
	old, err := safefile.ReadDir(b.path + "s")
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	var paths []string
	for _, e := range old {
		if filepath.Ext(e.Name()) == ".bundle" {
			paths = append(paths, filepath.Join(b.path+"s", e.Name()))
		}
	}
	return paths, err
}

// saveBundle saves the run's commits in .loop. Its error is the cause of ctx's end; other errors are shown to the user,
// because the run itself does not need the bundle.
func (m *Manager) saveBundle(ctx context.Context) error {
	err := m.bundle.save(ctx, m.g, m.state.Base, func() error { return nil })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		m.warn(fmt.Errorf("the commits of the run are no longer saved in %s, so a fresh clone cannot continue it: %w",
			loop.Name, err))
	}
	return nil
}

// warn shows a problem that does not stop the run.
func (m *Manager) warn(err error) {
	if m.opts.Warn != nil {
		m.opts.Warn(err)
	}
}
