package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Cgroup is a control group (version 2) of a run. All processes of wavex are started in it,
// and they stay in it even if they clear their environment or leave their parents. One group
// serves the whole run; the sweep determines the attempt of a process.
type Cgroup struct {
	dir string
	fd  *os.File // of the directory; processes are forked into it
}

// NewCgroup makes the run's control group, below the one of this process, and has every later Start
// of this process fork into it. The command line calls it once. It fails with ErrUnsupported if
// there is no such hierarchy, or none that this process may change (most sessions of ordinary
// users, containers without a delegated group).
func NewCgroup(run string) (*Cgroup, error) {
	dir := cgroupDir(run, os.Getpid())
	if dir == "" {
		return nil, ErrUnsupported
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if _, err := os.Stat(filepath.Join(dir, killFile)); err != nil { // before Linux 5.14
		_ = os.Remove(dir)
		return nil, ErrUnsupported
	}
	fd, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		_ = os.Remove(dir)
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	e := &Cgroup{dir: dir, fd: fd}
	allChildren.cgroup.Store(e)
	return e, nil
}

// Close ends the processes in the group, removes it, and has later processes start outside it
// again.
func (e *Cgroup) Close(ctx context.Context) error {
	allChildren.cgroup.CompareAndSwap(e, nil)
	return errors.Join(killCgroup(ctx, e.dir), e.fd.Close())
}

// RemoveOldCgroups ends all processes in the control groups that earlier processes made for the run, and
// removes these groups. It does nothing if there are none.
func RemoveOldCgroups(ctx context.Context, run string) error {
	own := cgroupDir(run, os.Getpid())
	if own == "" {
		return nil
	}
	list, err := os.ReadDir(filepath.Dir(own))
	for _, e := range list {
		if strings.HasPrefix(e.Name(), cgroupPrefix(run)) && e.Name() != filepath.Base(own) {
			err = errors.Join(err, killCgroup(ctx, filepath.Join(filepath.Dir(own), e.Name())))
		}
	}
	return err
}

// removeCgroupOf is RemoveOldCgroups for the groups of one process. When a guard wakes, the next wavex may
// already work on the same run, in its own group.
func removeCgroupOf(ctx context.Context, run string, pid int) error {
	if dir := cgroupDir(run, pid); dir != "" {
		return killCgroup(ctx, dir)
	}
	return nil
}

const (
	killFile   = "cgroup.kill"
	eventsFile = "cgroup.events"
)

// cgroupDir returns the directory of the group of a run's process, below our own group in the unified hierarchy; "" if
// there is none. A nested wavex is in the group of the outer one, and makes its own inside it.
func cgroupDir(run string, pid int) string {
	own, err := os.ReadFile(procPath(os.Getpid(), "cgroup"))
	if err != nil || run == "" || strings.ContainsAny(run, "/\x00") {
		return ""
	}
	for line := range strings.Lines(string(own)) {
		part := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if mount := cgroupMount(); len(part) == 3 && part[1] == "" && mount != "" {
			return filepath.Join(mount, part[2], cgroupPrefix(run)+strconv.Itoa(pid))
		}
	}
	return ""
}

// cgroupPrefix returns the beginning of the names of a run's groups, before the pid of their wavex. It has the PID
// namespace: in containers that share a hierarchy, other processes have the same pids, and may work on the same run.
func cgroupPrefix(run string) string {
	var namespace unix.Stat_t
	_ = unix.Stat(procPath(os.Getpid(), "ns/pid"), &namespace) // 0 without namespaces
	return fmt.Sprintf("wavex-%s.%d.", run, namespace.Ino)
}

// cgroupMount returns the mount point of version 2, or "".
func cgroupMount() string {
	f, err := os.Open(procPath(os.Getpid(), "mountinfo"))
	if err != nil {
		return ""
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		before, after, _ := strings.Cut(in.Text(), " - ")
		fields, of := strings.Fields(before), strings.Fields(after)
		if len(of) != 3 || len(fields) < 5 || fields[3] != "/" {
			continue
		}
		if of[0] == "cgroup2" {
			return fields[4]
		}
	}
	return ""
}

// killCgroup kills all processes in a group and below it, then removes it. The kernel kills
// them all at once, even if some fork meanwhile.
func killCgroup(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, killFile)); err != nil {
		return removeCgroup(dir) // of version 1, or missing
	}
	err := os.WriteFile(filepath.Join(dir, killFile), []byte("1"), 0)
	if err != nil {
		return fmt.Errorf("ending what is in %s: %w", dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		events, err := os.ReadFile(filepath.Join(dir, eventsFile))
		if err != nil || strings.Contains(string(events), "populated 0") {
			return removeCgroup(dir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", dir, ErrStillAlive)
		case <-tick.C:
		}
	}
}

// removeCgroup removes a group and its subgroups, innermost first.
func removeCgroup(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		if e.IsDir() {
			err = errors.Join(err, removeCgroup(filepath.Join(dir, e.Name())))
		}
	}
	if rerr := os.Remove(dir); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
