//go:build unix && !linux

package proc

import "sync"

// brood counts, per mark, the processes that were started and have not ended.
type brood struct {
	mu    sync.Mutex
	marks map[string]int
}

// ours is the one brood: a mark is swept with the last process that has it, whoever
// in this process started it.
var ours = brood{marks: map[string]int{}}

func (b *brood) enter(p *Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marks[p.mark]++
}

// leave tells whether p was the last that had its mark.
func (b *brood) leave(p *Process) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marks[p.mark]--
	if b.marks[p.mark] > 0 {
		return false
	}
	delete(b.marks, p.mark)
	return p.mark != ""
}
