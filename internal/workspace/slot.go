package workspace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file gives each slot what attempts would otherwise fight about: ports, a
// folder for temporary files, names for databases and containers. It knows no attempt.

const (
	portsPerSlot = 20 // the last of them is not for use: that it is taken is the claim
	lowestPort   = 20000
	highestPort  = 32000 // below the range that systems give to clients
)

// slots are the slots of one run. The zero value gives no TMPDIR.
type slots struct {
	run  string
	temp string

	mu     sync.Mutex
	base   map[int]int               // first port by slot
	made   map[int]bool              // its TMPDIR is there, and empty when nothing runs in it
	told   map[int]map[string]string // what is always the same for it; never changed
	claims []net.Listener
}

// untouched is when the TMPDIR of a slot was changed last, as it says itself. Whoever makes
// or removes something in it sets another time, so that one look at the folder shows that
// nothing was done there.
func untouched() time.Time { return time.Unix(1_000_000_000, 0) }

// open makes the folder of the TMPDIRs, or uses the one that the run had.
func (s *slots) open(run, temp string) (string, error) {
	s.run, s.base, s.made, s.told = run, map[int]int{}, map[int]bool{}, map[int]map[string]string{}
	if info, err := os.Lstat(temp); temp == "" || err != nil || !info.IsDir() {
		var err error
		// In the system's own folder: the path of a socket has no more than about 100 bytes.
		if temp, err = os.MkdirTemp("", "wavex-"); err != nil {
			return "", err
		}
	}
	s.temp = temp
	return temp, nil
}

// env is what everything in a slot finds in its environment. It is the caller's.
func (s *slots) env(slot int) map[string]string {
	env := maps.Clone(s.fixed(slot))
	if s.temp != "" {
		dir := s.dir(slot)
		if s.folder(slot, dir) {
			env["TMPDIR"] = dir
			if runtime.GOOS == "windows" {
				env["TEMP"], env["TMP"] = dir, dir
			}
		}
	}
	return env
}

// fixed is the part of env that stays.
func (s *slots) fixed(slot int) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if env, ok := s.told[slot]; ok {
		return env
	}
	n := strconv.Itoa(slot)
	env := map[string]string{
		"WAVEX_SLOT":           n,
		"WAVEX_DB_SUFFIX":      "_" + letters(s.run, '_') + "_" + n,
		"COMPOSE_PROJECT_NAME": "wavex-" + letters(s.run, '-') + "-" + n,
	}
	if base := s.ports(slot); base > 0 {
		env["WAVEX_PORT_BASE"] = strconv.Itoa(base)
		env["WAVEX_PORT_COUNT"] = strconv.Itoa(portsPerSlot - 1)
		s.told[slot] = env
	}
	return env
}

// dir is the TMPDIR of a slot.
func (s *slots) dir(slot int) string { return filepath.Join(s.temp, strconv.Itoa(slot)) }

// over lays what a slot has over what an attempt is told anyway.
func (s *slots) over(told map[string]string, slot int) map[string]string {
	env := s.env(slot)
	for name, v := range told {
		if _, ours := env[name]; !ours {
			env[name] = v
		}
	}
	return env
}

// folder makes a TMPDIR, unless it is there.
func (s *slots) folder(slot int, dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made[slot] {
		if os.Mkdir(dir, 0o700) == nil { // else there may be something in it
			_ = os.Chtimes(dir, untouched(), untouched()) // without it every look is a long one
		}
		s.made[slot] = os.MkdirAll(dir, 0o700) == nil
	}
	return s.made[slot]
}

// empty removes what an attempt left in its TMPDIR. Most leave nothing, and the folder
// stays: making it anew would take longer than a small command.
func (s *slots) empty(slot int) {
	if s.temp == "" {
		return
	}
	dir := s.dir(slot)
	if clean(dir) {
		return
	}
	s.mu.Lock()
	delete(s.made, slot)
	s.mu.Unlock()
	_ = os.RemoveAll(dir) // it may be of another user: then it stays
}

// clean tells whether a folder of ours is as it was made.
func clean(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		return false
	}
	if info.ModTime().Equal(untouched()) {
		return true
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	if _, err = f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return false
	}
	_ = os.Chtimes(dir, untouched(), untouched())
	return true
}

// ports finds a range where nothing listens, once for each slot; 0 when there is none.
// A listener on its last port keeps other runs out of it until close. The caller holds mu.
func (s *slots) ports(slot int) int {
	if base, ok := s.base[slot]; ok {
		return base
	}
	const ranges = (highestPort - lowestPort) / portsPerSlot
	h := fnv.New32a()
	fmt.Fprint(h, s.run)
	first := int(h.Sum32()%ranges) + slot
	for i := range ranges {
		base := lowestPort + (first+i)%ranges*portsPerSlot
		if l := claim(base); l != nil {
			s.base[slot], s.claims = base, append(s.claims, l)
			return base
		}
	}
	return 0
}

// claim takes a range if every port of it is free.
func claim(base int) net.Listener {
	last, err := listen(base + portsPerSlot - 1)
	if err != nil {
		return nil
	}
	for p := base; p < base+portsPerSlot-1; p++ {
		l, err := listen(p)
		if err != nil {
			_ = last.Close()
			return nil
		}
		_ = l.Close()
	}
	return last
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func (s *slots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, l := range s.claims {
		errs = append(errs, l.Close())
	}
	s.claims, s.base, s.told = nil, map[int]int{}, map[int]map[string]string{}
	if s.temp != "" {
		errs = append(errs, os.RemoveAll(s.temp))
	}
	return errors.Join(errs...)
}

// letters keeps what names of databases and projects may have.
func letters(s string, other rune) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return other
	}, strings.ToLower(s))
}

// Slot is Env, and leave empties the slot's TMPDIR.
func (m *Manager) Slot(n int) (env map[string]string, leave func()) {
	return m.slots.env(n), func() { m.slots.empty(n) }
}

// Env is what everything that runs in a slot finds in its environment: WAVEX_SLOT,
// WAVEX_PORT_BASE (the first of WAVEX_PORT_COUNT ports where nothing listened), TMPDIR,
// WAVEX_DB_SUFFIX and COMPOSE_PROJECT_NAME. It is the same for a slot until Close.
func (m *Manager) Env(slot int) map[string]string { return m.slots.env(slot) }
