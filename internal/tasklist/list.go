package tasklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/async"
)

// This file reads the folder of a list while others write to it, changes single tasks and adds
// tasks. It knows nothing of plans and runs.

// EnvVar names the list that the Task tools of a session use.
const EnvVar = "CLAUDE_CODE_TASK_LIST_ID"

// ToolsVar set to "1" makes the CLI offer the Task tools on every model. Without it the default
// models of claude 2.1.330 do not have them, even with EnvVar set.
const ToolsVar = "CLAUDE_CODE_ENABLE_TODO_TOOLS"

// List is the folder of a task list. Its methods are safe for concurrent use by goroutines and
// processes, including sessions of Claude Code.
type List struct {
	Name string // name of the folder
	Dir  string // absolute
}

// Open returns the list NAME of the user's Claude configuration: CLAUDE_CONFIG_DIR, else .claude in
// the home folder. It spells the name as the CLI does. The folder need not exist.
func Open(name string, getenv func(string) string) (*List, error) {
	config := getenv("CLAUDE_CONFIG_DIR")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("finding the task lists: %w", err)
		}
		config = filepath.Join(home, ".claude")
	}
	config, err := filepath.Abs(config)
	if err != nil {
		return nil, err
	}
	name = folderName(name)
	return &List{Name: name, Dir: filepath.Join(config, "tasks", name)}, nil
}

// NameOf returns the name of the list of a project directory.
func NameOf(project string) string { return filepath.Base(project) + "-loop" }

// OpenDir returns the list in a folder.
func OpenDir(dir string) (*List, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &List{Name: filepath.Base(abs), Dir: abs}, nil
}

// folderName converts a name to a folder name as the CLI does.
func folderName(name string) string {
	return regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(name, "-")
}

// Exists reports whether the list has a folder.
func (l *List) Exists() bool {
	info, err := os.Stat(l.Dir)
	return err == nil && info.IsDir()
}

// IsList reports whether a folder is a task list: it is one of the user's lists, or it has the
// files that the CLI leaves beside tasks. JSON files alone do not make a list.
func IsList(dir string, getenv func(string) string) bool {
	l, err := OpenDir(dir)
	if err != nil || !l.Exists() {
		return false
	}
	if own, err := Open(l.Name, getenv); err == nil && own.Dir == l.Dir {
		return true
	}
	return slices.ContainsFunc([]string{".lock", ".highwatermark"}, func(name string) bool {
		info, err := os.Stat(filepath.Join(l.Dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// taskID returns the id of the task in a file of that name.
func taskID(name string) (string, bool) {
	id, ok := strings.CutSuffix(name, ".json")
	return id, ok && id != "" && folderName(id) == id
}

// ErrDeleted means that the task was deleted.
var ErrDeleted = errors.New("the task is no longer in the list")

// Read reads every task, numeric ids before names and ordered by size. The second result lists
// files that are not tasks; the error is about the folder itself.
func (l *List) Read(ctx context.Context) ([]*Task, []*FileError, error) {
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return nil, nil, err
	}
	var tasks []*Task
	var bad []*FileError
	for _, e := range entries {
		id, ok := taskID(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		t, err := l.read(ctx, id)
		var wrong *FileError
		switch {
		case err == nil:
			tasks = append(tasks, t)
		case errors.Is(err, ErrDeleted): // deleted since the folder was listed
		case errors.As(err, &wrong):
			bad = append(bad, wrong)
		default:
			return nil, nil, err
		}
	}
	slices.SortFunc(tasks, func(a, b *Task) int { return compareIDs(a.ID, b.ID) })
	slices.SortFunc(bad, func(a, b *FileError) int { return compareIDs(a.ID, b.ID) })
	return tasks, bad, nil
}

// compareIDs orders ids: numbers by size, then names.
func compareIDs(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

func (l *List) file(id string) string { return filepath.Join(l.Dir, id+".json") }

// read reads a task without its lock, as the CLI does. A file that is not JSON may be half written:
// read retries for as long as such a write may take, and the last time under the lock.
func (l *List) read(ctx context.Context, id string) (*Task, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		t, err := l.readOnce(id)
		var m *FileError
		if !errors.As(err, &m) || !m.MaybePartial {
			return t, err
		}
		if wait > 100*time.Millisecond {
			break
		}
		if err := async.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	held, err := acquire(ctx, l.file(id))
	if err != nil {
		return l.readOnce(id) // the lock cannot be taken: report the file as it is
	}
	defer held.unlock()
	return l.readOnce(id)
}

func (l *List) readOnce(id string) (*Task, error) {
	file := l.file(id)
	info, err := os.Stat(file)
	var src []byte
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, &FileError{ID: id, File: file, Code: "wrong-type", Text: "is no regular file"}
	case err == nil && info.Size() > maxTask:
		src = make([]byte, maxTask+1) // too large; parse reports it
	case err == nil:
		src, err = os.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("task %s: %w", id, ErrDeleted)
	}
	if err != nil {
		return nil, err
	}
	t, err := parse(id, src)
	var m *FileError
	if errors.As(err, &m) {
		m.ID, m.File, m.Src = id, file, src
	}
	return t, err
}

// Update changes one task under its lock. change gets the current task and reports whether to write
// it. Update returns ErrDeleted if the task was deleted.
func (l *List) Update(ctx context.Context, id string, change func(*Task) bool) error {
	if _, ok := taskID(id + ".json"); !ok {
		return fmt.Errorf("task %q: no id of a task list", id)
	}
	held, err := acquire(ctx, l.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("task %s: %w", id, ErrDeleted)
	}
	if err != nil {
		return err
	}
	defer held.unlock()
	t, err := l.readOnce(id)
	if err != nil {
		return err
	}
	if !change(t) {
		return nil
	}
	return l.write(t)
}

// write replaces a task's file as a whole (on Windows in place, as the CLI does).
func (l *List) write(t *Task) error {
	file, perm := l.file(t.ID), fs.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
		if info, err := os.Stat(file); err == nil {
			perm = info.Mode().Perm()
		}
	}
	return maybe.WriteFile(file, t.render(), perm)
}
