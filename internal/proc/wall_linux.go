package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tryTimeout bounds a trial start. It takes 20 to 40 ms on an idle machine.
const tryTimeout = 10 * time.Second

// wallTrial is the command of a trial start. It gets a file that is closed to it, and the directory of the work. Its
// parent is bwrap, which has no wall itself.
const wallTrial = `for file in "$1" "/proc/$PPID/root$1"; do
	if echo x >>"$file"; then echo "a closed file can be written"; exit 3; fi
done 2>/dev/null
[ -w "$2" ] || { echo "$2 cannot be written behind it, as it belongs to another user"; exit 3; }`

// TryWall starts a command of its own behind bwrap and returns a Wall if that holds: a closed file cannot be written,
// and dir, the directory of the work, can. env is the environment of the command. The error says in one line why there
// is no wall.
func TryWall(ctx context.Context, dir string, env []string) (*Wall, error) {
	return findWall(ctx, dir, env, Wall{})
}

// TryStrictWall is TryWall for a strict wall, whose programs may also write caches, which are absolute.
func TryStrictWall(ctx context.Context, dir string, env, caches []string) (*Wall, error) {
	return findWall(ctx, dir, env, Wall{strict: true, open: resolved(caches)})
}

// findWall completes a Wall if it holds.
func findWall(ctx context.Context, dir string, env []string, w Wall) (*Wall, error) {
	path, err := LookPath("bwrap", env)
	if err != nil {
		return nil, ErrNoBwrap
	}
	w.bwrap = path
	if err := w.try(ctx, dir, env); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		err = sshConfigOf("/etc/ssh/ssh_config.d")
	}
	if err != nil {
		return nil, err
	}
	return &w, nil
}

// try makes the trial start.
func (w *Wall) try(ctx context.Context, dir string, env []string) error {
	f, err := os.CreateTemp("", "wavex-wall-")
	if err != nil {
		return fmt.Errorf("trying bwrap: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // an empty file
	if err := f.Close(); err != nil {
		return fmt.Errorf("trying bwrap: %w", err)
	}
	var out strings.Builder
	wrapper := w.Wrapper([]string{f.Name()}, dir)
	if w.strict {
		wrapper = w.Offline([]string{f.Name()}, dir)
	}
	p, err := Start(Spec{Wrapper: wrapper,
		Argv: []string{"/bin/sh", "-c", wallTrial, "sh", f.Name(), dir}, Dir: dir, Env: env, Combined: &out})
	if err != nil {
		return fmt.Errorf("trying bwrap: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill()
	}
	e := p.Wait()
	said := strings.TrimSpace(out.String())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("trying bwrap: %w", context.Cause(ctx))
	case e.Code != 0 && said != "":
		line, _, _ := strings.Cut(said, "\n")
		return errors.New(line)
	case e.Code != 0 || e.Signal != "":
		return fmt.Errorf("bwrap ended with code %d %s", e.Code, e.Signal)
	}
	return nil
}

// sshConfigOf returns an error if ssh would refuse its configuration behind the wall of an ordinary user, where the
// files of root belong to no known user: ssh demands root or the user as the owner of the files in dir, which its own
// configuration includes.
func sshConfigOf(dir string) error {
	list, err := filepath.Glob(filepath.Join(dir, "*.conf"))
	if err != nil || len(list) == 0 {
		return nil
	}
	return fmt.Errorf("ssh would refuse %s behind it, where root's files have no owner", list[0])
}
