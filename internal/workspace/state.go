package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/wary"
)

// This file keeps what a Manager must know after a crash and git does not tell.

// saved is the content of worktrees/RUN.json. Version 1.
type saved struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
	Mode    string `json:"mode"`
	Why     string `json:"why"`
	Project string `json:"project"`
	Base    string `json:"base,omitempty"`   // the commit that the run began on
	Branch  string `json:"branch,omitempty"` // the branch that it was on; "" when detached
	Dirty   bool   `json:"dirty,omitempty"`  // there were uncommitted changes
	Temp    string `json:"temp,omitempty"`   // folder of the slots' TMPDIRs
	// Delivered is the tip that a fast-forward brought to the user.
	Delivered string   `json:"delivered,omitempty"`
	Trees     []*tree  `json:"trees,omitempty"`
	Waves     []record `json:"waves,omitempty"`
}

// record is one integration.
type record struct {
	Key    string            `json:"key"` // of all that it was made from
	Wave   int               `json:"wave"`
	From   string            `json:"from"`             // the tip before
	Tasks  map[string]string `json:"tasks,omitempty"`  // of the integrated: their commits; "" without work
	Checks []Done            `json:"checks,omitempty"` // of the integrated
	Result Integration       `json:"result"`
}

// worktrees is the folder of all runs of a project.
func worktrees(loop string) string { return filepath.Join(loop, "worktrees") }

func statePath(loop, run string) string { return filepath.Join(worktrees(loop), run+".json") }

// maxState bounds, in bytes, what is read of what a Manager keeps.
const maxState = 256 << 20

// readState returns nil when nothing is saved.
func readState(path string) (*saved, error) {
	data, err := wary.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &saved{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if s.Version != 1 {
		return nil, fmt.Errorf("%s is of version %d; this wavex knows version 1", path, s.Version)
	}
	return s, nil
}

// save writes the state whole or not at all. Only what git could not give back after
// a loss of power (durable) waits for the disk: the rest is rebuilt.
func (m *Manager) save(durable bool) error {
	data, err := json.MarshalIndent(&m.s, "", " ")
	if err != nil {
		return err
	}
	path := statePath(m.o.Loop, m.o.Run)
	if durable {
		err = maybe.WriteFile(path, data, 0o600)
	} else {
		temp := path + ".new" // one writer: m.mu is held
		if err = wary.Write(temp, data, 0o600); err == nil {
			err = os.Rename(temp, path)
		}
	}
	if err != nil {
		return fmt.Errorf("saving the state of the worktrees: %w", err)
	}
	return nil
}
