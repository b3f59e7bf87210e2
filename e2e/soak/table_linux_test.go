package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/event"
)

// This file holds the table.

// The kinds of findings, in the order of the table.
const (
	lost   = "lost: completed work that is not in the delivered files"
	redone = "redone: completed tasks that started again"
	paid   = "paid twice: costs that differ from the charges, or reservations that stay"
	alive  = "alive: sessions that left a process"
	code   = "exit codes that docs/exit-codes.md does not say, and runs that never complete"
	other  = "other: git, locks, views"
)

var kinds = []string{lost, redone, paid, alive, code, other}

// table counts plans, sessions, strikes and findings. It is safe for concurrent use.
type table struct {
	mu       sync.Mutex
	first    uint64
	began    time.Time
	done     map[string]int // by name
	hits     map[string]int // by strike
	exits    map[int]int    // of sessions
	findings map[string]int // by kind
	notRun   int            // strikes at disks that cannot be mounted here
	failed   []uint64       // seeds
}

func newTable(first uint64) *table {
	return &table{first: first, began: time.Now(), done: map[string]int{}, hits: map[string]int{}, exits: map[int]int{},
		findings: map[string]int{}}
}

// add counts a seed.
func (s *table) add(c *soaked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done["plans, "+c.plan.isolation]++
	s.done["sessions"] += len(c.exits)
	for _, exit := range c.exits {
		s.exits[exit]++
	}
	for _, k := range c.strikes {
		if k.hit {
			s.hits[k.kind]++
		}
	}
	for kind, n := range c.findings {
		s.findings[kind] += n
	}
	s.notRun += c.notRun
	if c.t.Failed() {
		s.failed = append(s.failed, c.seed)
	}
	for _, e := range c.events {
		switch e.Body.(type) {
		case event.AttemptStarted:
			s.done["attempts"]++
		case event.CounselEnded:
			s.done["panels"]++
		case event.ReviewEnded:
			s.done["reviews"]++
		case event.IntegrationEnded:
			s.done["integrations"]++
		}
	}
	s.done["tasks"] += len(c.plan.tasks)
}

// String returns the table as Markdown.
func (s *table) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\nsoak: %s from seed %d\n\n| what | number |\n|---|---|\n",
		time.Since(s.began).Round(time.Second), s.first)
	for _, name := range slices.Sorted(maps.Keys(s.done)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, s.done[name])
	}
	for _, kind := range slices.Sorted(maps.Keys(s.hits)) {
		fmt.Fprintf(&b, "| %s | %d |\n", kind, s.hits[kind])
	}
	if s.notRun > 0 {
		fmt.Fprintf(&b, "| full disks NOT RUN: no mount namespace here | %d |\n", s.notRun)
	}
	for _, exit := range slices.Sorted(maps.Keys(s.exits)) {
		name := fmt.Sprint("sessions with exit code ", exit)
		if exit < 0 {
			name = "sessions killed"
		}
		fmt.Fprintf(&b, "| %s | %d |\n", name, s.exits[exit])
	}
	for _, kind := range kinds {
		fmt.Fprintf(&b, "| **%s** | %d |\n", kind, s.findings[kind])
	}
	for _, seed := range s.failed {
		fmt.Fprintf(&b, "| failed: `make soak SEED=%d` | |\n", seed)
	}
	return b.String()
}
