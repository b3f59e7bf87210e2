package evidence

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
)

// This file writes a case to a folder, with the scenario of its agent.

// Room is an unpacked case.
type Room struct {
	Project  string // the repository
	Bin      string // programs for PATH
	Scenario string // for the rehearsal agent
	Before   string // the script before the first commit, or ""
	Person   string // the script before the second command, or ""
}

// Unpack writes the case's files below dir, which is empty. It makes no commit.
func (c *Case) Unpack(t testing.TB, dir string) Room {
	t.Helper()
	r := Room{Project: filepath.Join(dir, "project"), Bin: filepath.Join(dir, "bin"),
		Scenario: filepath.Join(dir, "scenario.json")}
	if c.copy != "" {
		if err := os.CopyFS(r.Project, os.DirFS(filepath.Join("..", "..", filepath.FromSlash(c.copy)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range c.files {
		at, mode := filepath.Join(r.Project, filepath.FromSlash(f.Name)), os.FileMode(0o644)
		switch first, _, _ := strings.Cut(f.Name, "/"); first {
		case "agent", "bin":
			at, mode = filepath.Join(dir, filepath.FromSlash(f.Name)), 0o755
		case "agent.json":
			continue // part of the scenario
		case "before.sh":
			at = filepath.Join(dir, f.Name)
			r.Before = at
		case "person.sh":
			at = filepath.Join(dir, f.Name)
			r.Person = at
		}
		write(t, at, f.Data, mode)
	}
	write(t, r.Scenario, c.scenario(t, dir), 0o644)
	return r
}

// SecondPrompt returns the prompt of the second attempt at T-001, or "".
func (r Room) SecondPrompt() string {
	paths, err := filepath.Glob(loop.In(r.Project).Task("*", "T-001", loop.Attempt(2), loop.PromptFile))
	if err != nil || len(paths) == 0 {
		return ""
	}
	return Read(paths[0])
}

// Shown returns the prompts of the reviewers.
func (r Room) Shown() string {
	paths, err := filepath.Glob(loop.In(r.Project).Run("*", "reviews", "*", "*", loop.PromptFile))
	if err != nil {
		return ""
	}
	var all strings.Builder
	for _, path := range paths {
		all.WriteString(Read(path))
	}
	return all.String()
}

// Read returns the content of a file, or "" if it cannot be read.
func Read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

func write(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

// file returns the content of a file of the case, or nil.
func (c *Case) file(name string) []byte {
	for _, f := range c.files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Scripts returns the actions of the agent by task: a shell script for each attempt.
func (c *Case) Scripts() map[string][]string {
	all := map[string][]string{}
	for _, f := range c.files { // ID comes before ID.2
		if name, ok := strings.CutPrefix(f.Name, "agent/"); ok {
			id := strings.TrimSuffix(name, ".2")
			all[id] = append(all[id], string(f.Data))
		}
	}
	return all
}

// scenario returns the scenario of the rehearsal agent: agent.json and the scripts, which are in dir.
func (c *Case) scenario(t testing.TB, dir string) []byte {
	t.Helper()
	s := struct {
		Default   map[string]any            `json:"default"`
		Tasks     map[string]map[string]any `json:"tasks"`
		Questions map[string]any            `json:"questions"`
	}{Default: map[string]any{"duration": "0s"}, Tasks: map[string]map[string]any{}, Questions: map[string]any{}}
	if data := c.file("agent.json"); data != nil {
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
	}
	for id, scripts := range c.Scripts() {
		var attempts []any
		for i := range scripts {
			name := id
			if i > 0 {
				name = fmt.Sprintf("%s.%d", id, i+1)
			}
			command := "sh " + filepath.Join(dir, "agent", name)
			if c.Kind == Honest {
				command = scripts[i] // the policy sees it
			}
			attempts = append(attempts, map[string]any{"runs": []string{command}})
		}
		if s.Tasks[id] == nil {
			s.Tasks[id] = map[string]any{}
		}
		s.Tasks[id]["attempts"] = attempts
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
