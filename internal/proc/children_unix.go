//go:build unix && !linux

package proc

import "sync"

// children counts, for each mark, the processes that were started and have not ended.
type children struct {
	mu    sync.Mutex
	marks map[string]int
}

// allChildren holds the children of this process. It is global because a mark is swept with the last process of this
// process that has it.
var allChildren = children{marks: map[string]int{}}

func (b *children) add(p *Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marks[p.mark]++
}

// remove reports whether p was the last process with its mark.
func (b *children) remove(p *Process) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marks[p.mark]--
	if b.marks[p.mark] > 0 {
		return false
	}
	delete(b.marks, p.mark)
	return p.mark != ""
}
