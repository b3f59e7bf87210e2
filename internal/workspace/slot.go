package workspace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
	base   map[int]int  // first port by slot
	made   map[int]bool // its TMPDIR is there, and empty when nothing runs in it
	claims []net.Listener
}

// open makes the folder of the TMPDIRs, or uses the one that the run had.
func (s *slots) open(run, temp string) (string, error) {
	s.run, s.base, s.made = run, map[int]int{}, map[int]bool{}
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

// env is what everything in a slot finds in its environment.
func (s *slots) env(slot int) map[string]string {
	n := strconv.Itoa(slot)
	env := map[string]string{
		"WAVEX_SLOT":           n,
		"WAVEX_DB_SUFFIX":      "_" + letters(s.run, '_') + "_" + n,
		"COMPOSE_PROJECT_NAME": "wavex-" + letters(s.run, '-') + "-" + n,
	}
	if s.temp != "" {
		dir := filepath.Join(s.temp, n)
		if s.folder(slot, dir) {
			env["TMPDIR"] = dir
			if runtime.GOOS == "windows" {
				env["TEMP"], env["TMP"] = dir, dir
			}
		}
	}
	if base := s.ports(slot); base > 0 {
		env["WAVEX_PORT_BASE"] = strconv.Itoa(base)
		env["WAVEX_PORT_COUNT"] = strconv.Itoa(portsPerSlot - 1)
	}
	return env
}

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
	dir := filepath.Join(s.temp, strconv.Itoa(slot))
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
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// ports finds a range where nothing listens, once for each slot; 0 when there is none.
// A listener on its last port keeps other runs out of it until close.
func (s *slots) ports(slot int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.claims, s.base = nil, map[int]int{}
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

// Env is what everything that runs in a slot finds in its environment: WAVEX_SLOT,
// WAVEX_PORT_BASE (the first of WAVEX_PORT_COUNT ports where nothing listened), TMPDIR,
// WAVEX_DB_SUFFIX and COMPOSE_PROJECT_NAME. It is the same for a slot until Close.
func (m *Manager) Env(slot int) map[string]string { return m.slots.env(slot) }
