package gitwork

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file keeps the commits of a run in .loop as git bundles, each with the commits since the one before, so that
// .loop is enough to continue the run in another clone. restore.go brings them back.

const (
	maxBundles    = 128 << 20       // bytes of all bundles of a run
	maxHeader     = 1 << 20         // bytes of the header of a bundle
	bundleTimeout = 2 * time.Minute // for writing one bundle
	bundleSuffix  = ".bundle"
)

var (
	errBundleTooLarge = fmt.Errorf("they are larger than %d MB", maxBundles>>20)
	errBundleTimeout  = fmt.Errorf("it took longer than %s", bundleTimeout)
)

// bundles are the bundle files of one run. The methods are safe for concurrent use.
type bundles struct {
	dir      string
	prefixes []string // of the refs whose commits are saved, each with "/" at its end
	chain    string   // one of prefixes: each commit of its refs is an ancestor of the next one

	mu     sync.Mutex
	files  []bundle          // by number
	size   int64             // bytes of all files
	saved  map[string]string // commits of the refs when they were saved last
	broken bool              // a save failed; nothing more is saved
	listed bool              // the refs were listed once; changed has the later ones

	noting  sync.Mutex        // guards changed
	changed map[string]string // commits of the refs that were set since the last save
	noted   bool              // note is called for every change of a ref
}

// bundle is one file.
type bundle struct {
	path   string
	number int
	refs   map[string]string // commits of the refs in it
}

// openBundles reads the headers of a run's bundles. It removes the file of an interrupted save, and ignores files
// without a valid header.
func openBundles(dir, chain string, others ...string) (*bundles, error) {
	b := &bundles{dir: dir, prefixes: append(others, chain), chain: chain, saved: map[string]string{},
		changed: map[string]string{}}
	names, err := safefile.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		number, err := strconv.Atoi(strings.TrimSuffix(e.Name(), bundleSuffix))
		if err != nil || !strings.HasSuffix(e.Name(), bundleSuffix) {
			if err := safefile.RemoveAll(path); err != nil {
				return nil, err
			}
			continue
		}
		refs, err := b.readHeader(path)
		if err != nil {
			return nil, err
		}
		if info, err := e.Info(); err == nil {
			b.size += info.Size()
		}
		b.files = append(b.files, bundle{path, number, refs})
	}
	slices.SortFunc(b.files, func(a, c bundle) int { return a.number - c.number })
	for _, f := range b.files {
		for ref, id := range f.refs {
			b.saved[ref] = id
		}
	}
	return b, nil
}

// readHeader returns the refs in a bundle's header that are the run's. Agents can write to .loop, so the file may name
// other refs, and a file that is no bundle has none.
func (b *bundles) readHeader(path string) (map[string]string, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	refs := map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(f, maxHeader))
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		switch {
		case first && !strings.HasPrefix(line, "# v"):
			return nil, nil
		case line == "":
			return refs, nil
		case first, line[0] == '@', line[0] == '-':
			continue
		}
		id, ref, _ := strings.Cut(line, " ")
		if b.owns(ref) && isObjectID(id) {
			refs[ref] = id
		}
	}
	return nil, nil
}

// owns reports whether the commits of a ref are kept in the bundles.
func (b *bundles) owns(ref string) bool {
	return slices.ContainsFunc(b.prefixes, func(p string) bool { return strings.HasPrefix(ref, p) })
}

// save writes a bundle of the commits of the run's refs that are in none yet, based on base. It writes none if there is
// nothing new. The error is the cause of ctx's end, or else it is reported once: nothing more is saved then.
func (b *bundles) save(ctx context.Context, g git, base string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, bundleTimeout, errBundleTimeout)
	defer cancel()
	err := b.saveNew(limited, g, base)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	b.broken = err != nil
	return err
}

// stop ends the saving of bundles.
func (b *bundles) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
}

// isBroken reports whether nothing more is saved.
func (b *bundles) isBroken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

func (b *bundles) saveNew(ctx context.Context, g git, base string) (err error) {
	refs, err := b.changedRefs(ctx, g)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			b.forget(refs)
		}
	}()
	fresh := map[string]string{}
	args := []string{"bundle", "create", "-q", "-"}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		id := refs[ref]
		if b.saved[ref] != id && id != base && !b.inChain(id) {
			fresh[ref] = id
			args = append(args, ref)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	for _, id := range []string{base, b.newestOfChain()} {
		if id != "" {
			args = append(args, "^"+id)
		}
	}
	if b.size >= maxBundles {
		return errBundleTooLarge
	}
	g.most = int(maxBundles - b.size + 1)
	data, err := g.runOnce(ctx, "", args)
	var failed *gitError
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.stderr, "empty bundle"): // commits of the user
		data = ""
	case err != nil:
		return err
	case len(data) == g.most:
		return errBundleTooLarge
	}
	if data != "" {
		number := 1
		if n := len(b.files); n > 0 {
			number = b.files[n-1].number + 1
		}
		path := filepath.Join(b.dir, fmt.Sprintf("%06d%s", number, bundleSuffix))
		err := errors.Join(safefile.MkdirAll(b.dir, 0o700), safefile.Replace(path, []byte(data), 0o600, true))
		if err != nil {
			return err
		}
		b.files = append(b.files, bundle{path, number, fresh})
		b.size += int64(len(data))
	}
	for ref, id := range fresh {
		b.saved[ref] = id
	}
	return nil
}

// note is told of a change of a ref; with the id "" it was deleted.
func (b *bundles) note(ref, id string) {
	b.noting.Lock()
	defer b.noting.Unlock()
	if id == "" {
		delete(b.changed, ref)
	} else if b.owns(ref) {
		b.changed[ref] = id
	}
}

// changedRefs returns the refs that may not be saved.
func (b *bundles) changedRefs(ctx context.Context, g git) (refs map[string]string, err error) {
	if b.listed {
		b.noting.Lock()
		defer b.noting.Unlock()
		return maps.Clone(b.changed), nil
	}
	refs, err = g.listRefs(ctx, b.prefixes...)
	b.listed = b.noted && err == nil
	return refs, err
}

// forget removes the refs that are saved from changed, unless they have changed since.
func (b *bundles) forget(refs map[string]string) {
	b.noting.Lock()
	defer b.noting.Unlock()
	maps.DeleteFunc(b.changed, func(ref, id string) bool { return refs[ref] == id })
}

// inChain reports whether a commit is one of the chain in the bundles.
func (b *bundles) inChain(id string) bool {
	for ref, saved := range b.saved {
		if saved == id && strings.HasPrefix(ref, b.chain) {
			return true
		}
	}
	return false
}

// newestOfChain returns the commit of the chain that was saved last, or "". The commits before it are its ancestors.
func (b *bundles) newestOfChain() string {
	for _, f := range slices.Backward(b.files) {
		for ref, id := range f.refs {
			if strings.HasPrefix(ref, b.chain) {
				return id
			}
		}
	}
	return ""
}

// saveBundle saves the run's commits in .loop. Its error is the cause of ctx's end; other errors are shown to the user,
// because the run itself does not need the bundles.
func (m *Manager) saveBundle(ctx context.Context) error {
	err := m.bundles.save(ctx, m.g, m.state.Base)
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
