package scheduler

import (
	"slices"
	"wavex/internal/plan"
)

// This file keeps tasks that write the same file apart.

// fileLocks keeps tasks that declare the same file or the same exclusive name from running at the
// same time. It handles only names of more than one task. A task takes all its locks or none, so no
// two tasks wait for each other.
type fileLocks struct {
	filesOf [][]int32 // shared files of each task; nil for most
	holders []int32   // by file: the number of the task that holds it plus one; 0: free
}

func newFileLocks(paths func(i int) []string, tasks int) fileLocks {
	first := map[string]int32{} // path to the only task that declared it so far, or -1-id once shared
	var f fileLocks
	f.filesOf = make([][]int32, tasks)
	for i := range tasks {
		for _, p := range paths(i) {
			prev, seen := first[p]
			switch {
			case !seen:
				first[p] = int32(i)
			case prev >= 0 && prev != int32(i):
				id := int32(len(f.holders))
				f.holders = append(f.holders, 0)
				first[p] = -1 - id
				f.filesOf[prev] = append(f.filesOf[prev], id)
				f.filesOf[i] = append(f.filesOf[i], id)
			case prev < 0:
				f.filesOf[i] = append(f.filesOf[i], -1-prev)
			}
		}
	}
	return f
}

func (f *fileLocks) free(task int) bool {
	return !slices.ContainsFunc(f.filesOf[task], func(id int32) bool {
		return f.holders[id] != 0 && f.holders[id] != int32(task)+1
	})
}

func (f *fileLocks) acquire(task int) {
	for _, id := range f.filesOf[task] {
		f.holders[id] = int32(task) + 1
	}
}

func (f *fileLocks) release(task int) {
	for _, id := range f.filesOf[task] {
		if f.holders[id] == int32(task)+1 {
			f.holders[id] = 0
		}
	}
}

// exclusiveKeys returns the names that a task locks while it runs: the files that it writes, and its
// exclusive names.
func exclusiveKeys(t *plan.Task) []string {
	list := plan.Written(t.Files)
	for _, name := range t.Exclusive {
		list = append(list, "\x00"+name) // no path contains a NUL byte
	}
	return list
}
