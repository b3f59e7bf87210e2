package scheduler

import (
	"math"
	"slices"
	"sort"
)

// queue holds the tasks that could start, by rank and then by age, in one list per wave (or in a
// single list with the eager schedule). Entries of tasks that are no longer pending are stale and
// are skipped; a task that becomes pending again is queued again. queue does not handle limits or
// files.
type queue struct {
	lists         [][]entry
	heads         []int
	rank          []float64 // of each task; a higher one goes first
	pushCount     []int32   // number of times that each task was queued; only the entry with this number counts
	delayed       []int32   // tasks that wait, or waited, for a time
	panels        []int32   // tasks whose panel is due, oldest first
	members       [][]int32 // every task, by wave
	finishedFront []int     // number of settled members at the front, by wave
}

// entry is a task in a list, queued for the nth time.
type entry struct{ task, nth int32 }

func newQueue(waves int) queue {
	return queue{lists: make([][]entry, waves+1), heads: make([]int, waves+1), members: make([][]int32, waves+1),
		finishedFront: make([]int, waves+1)}
}

// isNext reports whether a task is the first of its wave that is not settled. A settled task stays
// settled until requeue or withdraw, so turn needs no search.
func (q *queue) isNext(wave, task int, settled func(int) bool) bool {
	m := q.members[wave]
	for q.finishedFront[wave] < len(m) && settled(int(m[q.finishedFront[wave]])) {
		q.finishedFront[wave]++
	}
	return q.finishedFront[wave] < len(m) && int(m[q.finishedFront[wave]]) == task
}

// setFirst ranks a task before all that were not set first. It removes the task's entries of the old rank.
func (q *queue) setFirst(list int, task int) {
	q.growRanks(task)
	if math.IsInf(q.rank[task], 1) {
		return
	}
	q.rank[task] = math.Inf(1)
	l, head := q.lists[list], q.heads[list]
	kept := slices.DeleteFunc(l[head:], func(e entry) bool { return int(e.task) == task })
	q.lists[list] = l[:head+len(kept)]
}

// growRanks adds the ranks of tasks that joined a running plan.
func (q *queue) growRanks(task int) {
	for len(q.rank) <= task {
		q.rank = append(q.rank, 0)
	}
}

// push queues a task after those of equal rank. Most tasks are pushed in order, so the search
// starts at the end.
func (q *queue) push(list int, task int) {
	q.growRanks(task)
	for len(q.pushCount) <= task {
		q.pushCount = append(q.pushCount, 0)
	}
	q.pushCount[task]++
	l, head := q.lists[list], q.heads[list]
	at := len(l)
	if at > head && q.rank[l[at-1].task] < q.rank[task] {
		at = head + sort.Search(at-head, func(k int) bool { return q.rank[l[head+k].task] < q.rank[task] })
	}
	q.lists[list] = slices.Insert(l, at, entry{int32(task), q.pushCount[task]})
}

// scan calls f in order for each queued task of a list that live accepts, until f returns false. It
// drops stale entries at the front.
func (q *queue) scan(list int, live func(int) bool, f func(int) bool) {
	l := q.lists[list]
	counts := func(e entry) bool { return q.pushCount[e.task] == e.nth && live(int(e.task)) }
	for q.heads[list] < len(l) && !counts(l[q.heads[list]]) {
		q.heads[list]++
	}
	for _, e := range l[q.heads[list]:] {
		if counts(e) && !f(int(e.task)) {
			return
		}
	}
}

// removePanel removes a task from the panels that are due.
func (q *queue) removePanel(task int) {
	if k := slices.Index(q.panels, int32(task)); k >= 0 {
		q.panels = slices.Delete(q.panels, k, k+1)
	}
}

// slots hands out the smallest free number below the parallel limit.
type slots struct{ used []bool }

func (s *slots) acquire(n int) {
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

func (s *slots) nextFree() int {
	for i, u := range s.used {
		if !u {
			return i
		}
	}
	return len(s.used)
}
