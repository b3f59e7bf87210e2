package tasklist

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file adds tasks to a list.

// Add creates tasks with new, unused ids in order and returns the ids. BlockedBy may name tasks of
// the list. Add calls named once with the new ids before it writes anything, so that the new tasks
// can name each other. It also updates the files of the blockers.
func (l *List) Add(ctx context.Context, tasks []*Task, named func(ids []string)) ([]string, error) {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return nil, err
	}
	ids, err := l.create(ctx, tasks, named)
	if err != nil {
		return ids, err
	}
	for i, t := range tasks {
		for _, b := range t.BlockedBy {
			if slices.Contains(ids, b) {
				continue // create wrote this edge
			}
			err := l.Update(ctx, b, func(old *Task) bool {
				if slices.Contains(old.Blocks, ids[i]) {
					return false
				}
				old.Blocks = append(old.Blocks, ids[i])
				return true
			})
			if err != nil && !errors.Is(err, ErrDeleted) {
				return ids, err
			}
		}
	}
	return ids, nil
}

func (l *List) create(ctx context.Context, tasks []*Task, named func([]string)) ([]string, error) {
	path := filepath.Join(l.Dir, ".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	held, err := acquire(ctx, path)
	if err != nil {
		return nil, err
	}
	defer held.unlock()
	last, err := l.highestNumber()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(tasks))
	at := map[string]int{}
	for i, t := range tasks {
		t.ID = strconv.FormatUint(last+uint64(i)+1, 10)
		ids[i], at[t.ID] = t.ID, i
	}
	if named != nil {
		named(ids)
	}
	for _, t := range tasks {
		for _, b := range t.BlockedBy {
			if i, ours := at[b]; ours && !slices.Contains(tasks[i].Blocks, t.ID) {
				tasks[i].Blocks = append(tasks[i].Blocks, t.ID)
			}
		}
	}
	for _, t := range tasks {
		if err := l.write(t); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// highestNumber returns the highest number used so far: among the file names, whatever the content, and the
// deleted tasks.
func (l *List) highestNumber() (uint64, error) {
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return 0, err
	}
	var last uint64
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			last = max(last, leadingNumber(e.Name()))
		}
	}
	mark, err := os.ReadFile(filepath.Join(l.Dir, ".highwatermark"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return max(last, leadingNumber(strings.TrimSpace(string(mark)))), nil
}

// leadingNumber returns the number at the start of a text, like JavaScript's parseInt; 0 if there is
// none, or if it is too large to be incremented.
func leadingNumber(s string) uint64 {
	rest := strings.TrimLeft(s, "0123456789")
	v, err := strconv.ParseUint(strings.TrimSuffix(s, rest), 10, 53)
	if err != nil {
		return 0
	}
	return v
}
