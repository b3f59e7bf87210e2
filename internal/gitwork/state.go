package gitwork

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file stores the facts that a Manager needs after a crash and that git does not store.

// savedState is the content of worktrees/RUN.json. Version 1.
type savedState struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
	Mode    string `json:"mode"`
	Why     string `json:"why"`
	Project string `json:"project"`
	Base    string `json:"base,omitempty"`   // the commit that the run began on
	Branch  string `json:"branch,omitempty"` // the branch that it was on; "" when detached
	Temp    string `json:"temp,omitempty"`   // folder of the slots' TMPDIRs
	// FilesKey is the filesKey of all sessions; "": they differ.
	FilesKey string `json:"files_key,omitempty"`
	// Programs are the digests of the files in which git found programs to run when the last session began, by path.
	Programs map[string]string  `json:"programs,omitempty"`
	Forward  *forward           `json:"forward,omitempty"` // the fast-forward under way
	CutOff   time.Time          `json:"cut_off,omitzero"`  // of an earlier session, which may have left a lock
	Trees    []*tree            `json:"trees,omitempty"`
	Parked   []*tree            `json:"parked,omitempty"` // of tasks whose worktree another task has taken over
	Waves    []savedIntegration `json:"waves,omitempty"`
}

// savedIntegration is one integration.
type savedIntegration struct {
	Key    string            `json:"key"` // hash of everything that it was made from
	Wave   int               `json:"wave"`
	From   string            `json:"from"`             // the tip before
	Tasks  map[string]string `json:"tasks,omitempty"`  // commits of the integrated tasks; "" without changes
	Checks []VerifiedTask    `json:"checks,omitempty"` // the integrated tasks
	Result Integration       `json:"result"`
}

// maxState is the largest state file that is read, in bytes.
const maxState = 256 << 20

// listStates returns the paths of the state files of all runs in a .loop directory, sorted.
func listStates(in loop.Dir) (paths []string, err error) {
	entries, err := safefile.ReadDir(in.Path(loop.Worktrees))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" {
			paths = append(paths, in.Path(loop.Worktrees, e.Name()))
		}
	}
	return paths, err
}

// readState reads a state file. It returns nil if there is none.
func readState(path string) (*savedState, error) {
	data, err := safefile.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &savedState{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if s.Version != 1 {
		return nil, fmt.Errorf("%s is of version %d; this wavex knows version 1", path, s.Version)
	}
	return s, nil
}

// readOwnState reads the state of the run. It returns nil if the run is new, and an *Error if it cannot go on without.
func (m *Manager) readOwnState() (*savedState, error) {
	path := m.opts.Loop.Worktree(m.opts.Run, "json")
	s, err := readState(path)
	gone, damaged := s == nil && err == nil && m.opts.Record != nil, (*json.SyntaxError)(nil)
	switch {
	case !gone && !errors.As(err, &damaged):
		return s, err
	case m.opts.Mode == Shared: // its state is nothing that is missed
		return nil, nil
	}
	return nil, &Error{NoCommits, path + " is damaged or gone, so the worktrees of the run are not known",
		"the integrated work is on " + branchName(runBranch(m.opts.Run)) + ", all work below refs/wavex/" + m.opts.Run +
			"; --fresh starts over"}
}

// moveTo changes the directories of the state to those of the project's current place, as in another clone.
func (s *savedState) moveTo(project string) {
	for w := range s.Waves {
		for i := range s.Waves[w].Checks {
			d := &s.Waves[w].Checks[i]
			if rel, err := filepath.Rel(s.Project, d.Dir); err == nil && filepath.IsLocal(rel) {
				d.Dir = filepath.Join(project, rel)
			}
		}
	}
	s.Project = project
}

// save writes the state, which is on disk then.
func (m *Manager) save() error { return m.state.save(m.opts.Loop) } // m.mu is held: one writer

func (s *savedState) save(in loop.Dir) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err == nil {
		err = safefile.Replace(in.Worktree(s.Run, "json"), data, 0o600, true)
	}
	if err != nil {
		return fmt.Errorf("saving the state of the worktrees: %w", err)
	}
	return nil
}
