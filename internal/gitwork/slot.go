package gitwork

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

	"wavex/internal/safefile"
)

// This file gives each slot resources that parallel attempts would otherwise compete for: ports, a
// folder for temporary files, and names for databases and containers. It knows no attempt.

const (
	portsPerSlot = 20 // the last one is kept open as the claim and not used
	lowestPort   = 20000
	highestPort  = 32000 // below the range of ephemeral ports
)

// slots has the resources of the slots of one run. The zero value gives no TMPDIR.
type slots struct {
	run  string
	temp string

	mu        sync.Mutex
	portBase  map[int]int               // first port by slot
	made      map[int]bool              // the TMPDIR exists, and is empty when nothing runs in the slot
	fixedVars map[int]map[string]string // constant part of the environment by slot; never changed
	listeners []net.Listener
}

// pristineTime returns the modification time that wavex gives to an empty TMPDIR. Adding or removing a
// file changes that time, so one Lstat shows that a TMPDIR was not used.
func pristineTime() time.Time { return time.Unix(1_000_000_000, 0) }

// open makes the folder of the TMPDIRs, or reuses the folder temp of an earlier session.
func (s *slots) open(run, temp string) (string, error) {
	s.run = run
	s.portBase = map[int]int{}
	s.made = map[int]bool{}
	s.fixedVars = map[int]map[string]string{}
	if !isTemp(temp) {
		var err error
		// Use the system's own folder, because the path of a socket is limited to about 100 bytes.
		if temp, err = os.MkdirTemp("", tempPrefix); err != nil {
			return "", fmt.Errorf("making a directory for temporary files: %w; make it, or set TMPDIR to another one", err)
		}
	}
	s.temp = temp
	return temp, nil
}

// tempPrefix begins the names of the folders of the TMPDIRs.
const tempPrefix = "wavex-"

// isTemp reports whether temp, which a file in .loop names, is a folder of open.
func isTemp(temp string) bool {
	info, err := os.Lstat(temp)
	return err == nil && info.IsDir() && strings.HasPrefix(filepath.Base(temp), tempPrefix) &&
		filepath.Dir(temp) == filepath.Clean(os.TempDir())
}

// env returns the environment of everything that runs in a slot. The caller owns the map.
func (s *slots) env(slot int) map[string]string {
	env := maps.Clone(s.fixedEnv(slot))
	if s.temp != "" {
		dir := s.dir(slot)
		if s.ensureDir(slot, dir) {
			env["TMPDIR"] = dir
			if runtime.GOOS == "windows" {
				env["TEMP"], env["TMP"] = dir, dir
			}
		}
	}
	return env
}

// fixedEnv returns the constant part of env.
func (s *slots) fixedEnv(slot int) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if env, ok := s.fixedVars[slot]; ok {
		return env
	}
	n := strconv.Itoa(slot)
	env := map[string]string{
		"WAVEX_SLOT":           n,
		"WAVEX_DB_SUFFIX":      "_" + sanitizeName(s.run, '_') + "_" + n,
		"COMPOSE_PROJECT_NAME": "wavex-" + sanitizeName(s.run, '-') + "-" + n,
	}
	if base := s.portRange(slot); base > 0 {
		env["WAVEX_PORT_BASE"] = strconv.Itoa(base)
		env["WAVEX_PORT_COUNT"] = strconv.Itoa(portsPerSlot - 1)
		s.fixedVars[slot] = env
	}
	return env
}

// dir returns the TMPDIR of a slot.
func (s *slots) dir(slot int) string { return filepath.Join(s.temp, strconv.Itoa(slot)) }

// overlay returns the slot's variables together with those of told, an attempt's own environment. A
// variable of the slot has precedence.
func (s *slots) overlay(told map[string]string, slot int) map[string]string {
	env := s.env(slot)
	for name, v := range told {
		if _, ours := env[name]; !ours {
			env[name] = v
		}
	}
	return env
}

// ensureDir makes a TMPDIR unless it exists.
func (s *slots) ensureDir(slot int, dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made[slot] {
		if os.Mkdir(dir, 0o700) == nil { // otherwise it may have contents
			_ = os.Chtimes(dir, pristineTime(), pristineTime()) // if it fails, clean reads the folder each time
		}
		s.made[slot] = safefile.MkdirAll(dir, 0o700) == nil
	}
	return s.made[slot]
}

// emptyDir removes the files that an attempt left in its TMPDIR. It keeps a folder that is clean,
// because making it again would take longer than a small command.
func (s *slots) emptyDir(slot int) {
	if s.temp == "" {
		return
	}
	dir := s.dir(slot)
	if isPristine(dir) {
		return
	}
	s.mu.Lock()
	delete(s.made, slot)
	s.mu.Unlock()
	_ = os.RemoveAll(dir) // it may belong to another user; then it stays
}

// isPristine reports whether a TMPDIR is empty and has its mode.
func isPristine(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		return false
	}
	if info.ModTime().Equal(pristineTime()) {
		return true
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only: no data can be lost
	if _, err = f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return false
	}
	_ = os.Chtimes(dir, pristineTime(), pristineTime())
	return true
}

// portRange returns the first port of a range in which nothing listens, the same for each call with a
// slot, or 0 if there is no such range. It listens on the last port of the range until close, which
// keeps other runs out. The caller must hold mu.
func (s *slots) portRange(slot int) int {
	if base, ok := s.portBase[slot]; ok {
		return base
	}
	const ranges = (highestPort - lowestPort) / portsPerSlot
	h := fnv.New32a()
	fmt.Fprint(h, s.run)
	first := int(h.Sum32()%ranges) + slot
	for i := range ranges {
		base := lowestPort + (first+i)%ranges*portsPerSlot
		if l := claimPorts(base); l != nil {
			s.portBase[slot], s.listeners = base, append(s.listeners, l)
			return base
		}
	}
	return 0
}

// claimPorts takes a range if every port of it is free.
func claimPorts(base int) net.Listener {
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
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	s.listeners, s.portBase, s.fixedVars = nil, map[int]int{}, map[int]map[string]string{}
	if s.temp != "" {
		errs = append(errs, os.RemoveAll(s.temp))
	}
	return errors.Join(errs...)
}

// sanitizeName replaces the characters that are not allowed in names of databases and projects.
func sanitizeName(s string, other rune) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return other
	}, strings.ToLower(s))
}

// SlotEnv returns Env and a function that empties the slot's TMPDIR.
func (m *Manager) SlotEnv(n int) (env map[string]string, leave func()) {
	return m.slots.env(n), func() { m.slots.emptyDir(n) }
}

// Env returns the variables of a slot: WAVEX_SLOT, WAVEX_PORT_BASE (the first of WAVEX_PORT_COUNT
// ports on which nothing listened), TMPDIR, WAVEX_DB_SUFFIX and COMPOSE_PROJECT_NAME. They do not
// change until Close.
func (m *Manager) Env(slot int) map[string]string { return m.slots.env(slot) }
