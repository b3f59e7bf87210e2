//go:build unix

package cmd_test

// Each sample of another tool's plan runs in rehearsal, with a scenario made of its own files and
// checks. The tests of internal/plan/convert check the conversion of the samples; these check the
// schedule: each task once, wave after wave, and one at a time where the plan or a shared file
// requires it.

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/testrepo"
)

// doing returns a scenario in which every task does the work that its checks look for.
func doing(p *plan.Plan) map[string]any {
	tasks := map[string]any{}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		content := map[string]string{}
		for _, f := range t.Files {
			if f.Writes() && f.Action != "delete" {
				content[f.Path] = t.ID + "\ntools: Browser mcp__ Glob Grep\n"
			}
		}
		for _, c := range t.Verify {
			if c.File != "" {
				content[c.File] += c.Contains + "\n"
			}
		}
		var writes []map[string]string
		for path, text := range content {
			writes = append(writes, map[string]string{"path": path, "append": text})
		}
		var deletes []string
		for _, f := range t.Files {
			if f.Action == "delete" {
				deletes = append(deletes, f.Path)
			}
		}
		tasks[t.ID] = map[string]any{"duration": "20ms", "writes": writes, "deletes": deletes}
	}
	return map[string]any{"tasks": tasks}
}

// turn holds the checked fields of one event.
type turn struct {
	Type string `json:"type"`
	Data struct {
		Task      string   `json:"task"`
		Wave      int      `json:"wave"`
		Status    string   `json:"status"`
		Completed []string `json:"completed"`
	} `json:"data"`
}

func TestSamplesAreScheduled(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/plan/convert/testdata/imports/*")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	if dir := os.Getenv("WAVEX_SAMPLES"); dir != "" { // the sources of the samples
		for _, pattern := range []string{"*.plan.md", "*.plan.json"} {
			more, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || more == nil {
				t.Fatal(more, err)
			}
			files = append(files, more...)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			file, err := filepath.Abs(file)
			testrepo.Must(t, err)
			p, ds, err := convert.Load(file, plan.Options{})
			if p == nil {
				t.Fatal(ds, err)
			}
			events := rehearsed(t, file, p)
			scheduled(t, p, events)
		})
	}
}

func rehearsed(t *testing.T, file string, p *plan.Plan) (events []turn) {
	t.Helper()
	dir := t.TempDir()
	scenario, err := json.Marshal(doing(p))
	testrepo.Must(t, err)
	for name, text := range map[string]string{
		"scenario.json": string(scenario), "bin/npm": "#!/bin/sh\nexit 0\n", "agents/old.md": "old\n"} {
		path := filepath.Join(dir, name)
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testrepo.Must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	run := exec.CommandContext(t.Context(), "wavex", "run", file, "--trust", "--agent", "rehearse", "--scenario",
		"scenario.json", "--output", "json", "--counsel", "off", "--review", "off", "--max-retries", "0", "-j", "4",
		"--max-iterations", strconv.Itoa(len(p.Tasks))) // no extra iterations to meet criteria
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, _ := run.Output() // criteria in words may stay unproven; the events show how the tasks ended
	for line := range bytes.Lines(out) {
		var e turn
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, stderr.Bytes())
		}
		events = append(events, e)
	}
	return events
}

// scheduled checks the order of starts and ends.
func scheduled(t *testing.T, p *plan.Plan, events []turn) {
	t.Helper()
	wave, _ := p.Waves()
	running := map[int]bool{}
	left := map[int]int{}
	for _, w := range wave {
		left[w]++
	}
	started := make([]int, len(p.Tasks))
	for _, e := range events {
		i, ok := p.Lookup(e.Data.Task)
		if strings.HasPrefix(e.Data.Task, "R-") {
			continue // a task added for a criterion that cannot be met here
		}
		switch e.Type {
		case "attempt_started":
			if !ok {
				t.Fatalf("task %s is not of the file", e.Data.Task)
			}
			if e.Data.Wave != wave[i] {
				t.Errorf("task %s ran in wave %d, want %d", e.Data.Task, e.Data.Wave, wave[i])
			}
			for w := 1; w < wave[i]; w++ {
				if left[w] > 0 {
					t.Errorf("task %s started before wave %d was over", e.Data.Task, w)
				}
			}
			for other := range running {
				if p.Sequential(wave[i]) || shared(p.Tasks[i].Files, p.Tasks[other].Files) {
					t.Errorf("tasks %s and %s ran side by side", e.Data.Task, p.Tasks[other].ID)
				}
			}
			running[i] = true
			started[i]++
		case "attempt_ended":
			switch e.Data.Status {
			case "completed":
				left[wave[i]]--
			case "verified":
			default:
				t.Errorf("task %s is %s", e.Data.Task, e.Data.Status)
			}
			delete(running, i)
		case "integration_ended":
			for _, id := range e.Data.Completed {
				i, _ := p.Lookup(id)
				left[wave[i]]--
			}
		}
	}
	for i, n := range started {
		if n != 1 {
			t.Errorf("task %s started %d times", p.Tasks[i].ID, n)
		}
	}
}

func shared(a, b []plan.File) bool {
	return slices.ContainsFunc(a, func(f plan.File) bool {
		return f.Writes() && slices.ContainsFunc(b, func(g plan.File) bool { return g.Writes() && g.Path == f.Path })
	})
}
