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
	lists         [][]sublist
	rank          []float64 // of each task; a higher one goes first
	age           []int32   // of each task's last entry; only that one counts
	pushes        int32     // of all tasks so far
	delayed       []int32   // tasks that wait, or waited, for a time
	panels        []int32   // tasks whose panel is due, oldest first
	members       [][]int32 // every task, by wave
	finishedFront []int     // number of settled members at the front, by wave
}

// sublist is the part of a list with the tasks of one group, so that a scan can leave all of them out at once. Group ""
// has the other tasks.
type sublist struct {
	group   string
	entries []entry
	head    int
}

// entry is a task in a list. Later entries have higher ages.
type entry struct{ task, age int32 }

func newQueue(waves int) queue {
	return queue{lists: make([][]sublist, waves+1), members: make([][]int32, waves+1), finishedFront: make([]int, waves+1)}
}

// grow adds the lists of a wave.
func (q *queue) grow() {
	q.lists, q.members = append(q.lists, nil), append(q.members, nil)
	q.finishedFront = append(q.finishedFront, 0)
}

// isNext reports whether a task is the first of its wave that is not settled. A settled task stays
// settled until requeue or a reopened task, so isTurn needs no search.
func (q *queue) isNext(wave, task int, settled func(int) bool) bool {
	m := q.members[wave]
	for q.finishedFront[wave] < len(m) && settled(int(m[q.finishedFront[wave]])) {
		q.finishedFront[wave]++
	}
	return q.finishedFront[wave] < len(m) && int(m[q.finishedFront[wave]]) == task
}

// sublist returns the part of a list with the tasks of a group.
func (q *queue) sublist(list int, group string) *sublist {
	k := slices.IndexFunc(q.lists[list], func(l sublist) bool { return l.group == group })
	if k < 0 {
		k = len(q.lists[list])
		q.lists[list] = append(q.lists[list], sublist{group: group})
	}
	return &q.lists[list][k]
}

// setFirst ranks a task before all that were not set first. It removes the task's entries of the old rank.
func (q *queue) setFirst(list int, group string, task int) {
	q.growRanks(task)
	if math.IsInf(q.rank[task], 1) {
		return
	}
	q.rank[task] = math.Inf(1)
	l := q.sublist(list, group)
	kept := slices.DeleteFunc(l.entries[l.head:], func(e entry) bool { return int(e.task) == task })
	l.entries = l.entries[:l.head+len(kept)]
}

// growRanks adds the ranks of tasks that joined a running plan.
func (q *queue) growRanks(task int) {
	for len(q.rank) <= task {
		q.rank = append(q.rank, 0)
	}
}

// push queues a task after those of equal rank. Most tasks are pushed in order, so the search
// starts at the end.
func (q *queue) push(list int, group string, task int) {
	q.growRanks(task)
	for len(q.age) <= task {
		q.age = append(q.age, 0)
	}
	q.pushes++
	q.age[task] = q.pushes
	sub := q.sublist(list, group)
	l, head := sub.entries, sub.head
	at := len(l)
	if at > head && q.rank[l[at-1].task] < q.rank[task] {
		at = head + sort.Search(at-head, func(k int) bool { return q.rank[l[head+k].task] < q.rank[task] })
	}
	sub.entries = slices.Insert(l, at, entry{int32(task), q.pushes})
}

// next says how a scan goes on.
type next uint8

const (
	nextTask  next = iota
	nextGroup      // without the other tasks of the group
	noneNext
)

// scan calls f in order for each queued task of a list that live accepts, as long as f wants more. It
// drops stale entries at the front.
func (q *queue) scan(list int, live func(int) bool, f func(int) next) {
	lists := q.lists[list]
	counts := func(e entry) bool { return q.age[e.task] == e.age && live(int(e.task)) }
	at := make([]int, len(lists))
	for k := range lists {
		l := &lists[k]
		for l.head < len(l.entries) && !counts(l.entries[l.head]) {
			l.head++
		}
		at[k] = l.head
	}
	for {
		first, best := -1, entry{}
		for k := range lists {
			l := lists[k].entries
			for at[k] < len(l) && !counts(l[at[k]]) {
				at[k]++
			}
			if at[k] < len(l) && (first < 0 || q.isBefore(l[at[k]], best)) {
				first, best = k, l[at[k]]
			}
		}
		if first < 0 {
			return
		}
		at[first]++
		switch f(int(best.task)) {
		case nextGroup:
			at[first] = len(lists[first].entries)
		case noneNext:
			return
		}
	}
}

// isBefore reports whether one entry goes before another.
func (q *queue) isBefore(a, b entry) bool {
	if x, y := q.rank[a.task], q.rank[b.task]; x != y {
		return x > y
	}
	return a.age < b.age
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
