package scheduler

import (
	"slices"
	"sort"
)

// queue holds the tasks that could start, by rank and then by age, by wave (or all in one list when
// the schedule is eager). Entries of tasks that have moved on are stale and are
// skipped; a task that comes back is queued again. It knows nothing of limits and files.
type queue struct {
	lists    [][]entry
	heads    []int
	rank     []float64 // of each task; a higher one goes first
	pushed   []int32   // how often each task was queued: its entry is the last one
	delayed  []int32   // tasks that wait, or waited, for a time
	panels   []int32   // tasks whose panel is due, oldest first
	verified int       // tasks whose work waits for its integration
	left     []int     // tasks not settled, by wave
	members  [][]int32 // every task, by wave
	turns    []int     // how many members at the front are settled, by wave
}

// entry is a task in a list, the nth time.
type entry struct{ task, nth int32 }

func newQueue(waves int) queue {
	return queue{lists: make([][]entry, waves+1), heads: make([]int, waves+1), left: make([]int, waves+1),
		members: make([][]int32, waves+1), turns: make([]int, waves+1)}
}

// turn tells whether a task is the first of its wave that is not settled. Nothing
// settled comes back before requeue, so the answer costs no search.
func (q *queue) turn(wave, task int, settled func(int) bool) bool {
	m := q.members[wave]
	for q.turns[wave] < len(m) && settled(int(m[q.turns[wave]])) {
		q.turns[wave]++
	}
	return q.turns[wave] < len(m) && int(m[q.turns[wave]]) == task
}

// push queues a task behind those of its rank. Tasks mostly come in their order, so the
// place is the end.
func (q *queue) push(list int, task int) {
	for len(q.rank) <= task { // joined a running plan
		q.rank = append(q.rank, 0)
	}
	for len(q.pushed) <= task {
		q.pushed = append(q.pushed, 0)
	}
	q.pushed[task]++
	l, head := q.lists[list], q.heads[list]
	at := len(l)
	if at > head && q.rank[l[at-1].task] < q.rank[task] {
		at = head + sort.Search(at-head, func(k int) bool { return q.rank[l[head+k].task] < q.rank[task] })
	}
	q.lists[list] = slices.Insert(l, at, entry{int32(task), q.pushed[task]})
}

// scan calls f with each queued task of a list that live accepts, in order, until
// f returns false. Stale entries at the front are dropped for good.
func (q *queue) scan(list int, live func(int) bool, f func(int) bool) {
	l := q.lists[list]
	counts := func(e entry) bool { return q.pushed[e.task] == e.nth && live(int(e.task)) }
	for q.heads[list] < len(l) && !counts(l[q.heads[list]]) {
		q.heads[list]++
	}
	for _, e := range l[q.heads[list]:] {
		if counts(e) && !f(int(e.task)) {
			return
		}
	}
}

// convened takes a task off the panels that are due.
func (q *queue) convened(task int) {
	if k := slices.Index(q.panels, int32(task)); k >= 0 {
		q.panels = slices.Delete(q.panels, k, k+1)
	}
}

// fileLocks keeps tasks that declare the same file, or ask for the same thing alone, from
// running side by side. Only what more than one task names takes part; a task takes all
// that it needs or nothing, so no two wait for each other.
type fileLocks struct {
	of   [][]int32 // shared files of each task; nil for most
	held []int32   // by file: the task that holds it plus one; 0 free
}

func newFileLocks(paths func(i int) []string, tasks int) fileLocks {
	first := map[string]int32{} // path to the only task that declared it so far, or -1-id once shared
	var f fileLocks
	f.of = make([][]int32, tasks)
	for i := range tasks {
		for _, p := range paths(i) {
			prev, seen := first[p]
			switch {
			case !seen:
				first[p] = int32(i)
			case prev >= 0 && prev != int32(i):
				id := int32(len(f.held))
				f.held = append(f.held, 0)
				first[p] = -1 - id
				f.of[prev] = append(f.of[prev], id)
				f.of[i] = append(f.of[i], id)
			case prev < 0:
				f.of[i] = append(f.of[i], -1-prev)
			}
		}
	}
	return f
}

func (f *fileLocks) free(task int) bool {
	for _, id := range f.of[task] {
		if h := f.held[id]; h != 0 && h != int32(task)+1 {
			return false
		}
	}
	return true
}

func (f *fileLocks) take(task int) {
	for _, id := range f.of[task] {
		f.held[id] = int32(task) + 1
	}
}

func (f *fileLocks) release(task int) {
	for _, id := range f.of[task] {
		if f.held[id] == int32(task)+1 {
			f.held[id] = 0
		}
	}
}

// slots hands out the smallest free number below the parallel limit.
type slots struct{ used []bool }

func (s *slots) take(n int) {
	for len(s.used) <= n {
		s.used = append(s.used, false)
	}
	s.used[n] = true
}

func (s *slots) release(n int) {
	if n >= 0 && n < len(s.used) {
		s.used[n] = false
	}
}

func (s *slots) free() int {
	for i, u := range s.used {
		if !u {
			return i
		}
	}
	return len(s.used)
}
