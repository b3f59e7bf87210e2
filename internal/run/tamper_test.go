package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// deed is the work of an attempt.
type deed func() error

// tampers returns the files that a detector sees changed by an attempt.
func (s tamperDetector) tampers(t *testing.T, req runner.Request, does deed) []runner.Tamper {
	t.Helper()
	end, err := s.begin(req, &runner.Hooks{})
	testrepo.Must(t, errors.Join(err, does()))
	res := runner.Result{Outcome: runner.Done}
	end(&res)
	if res.Outcome != runner.Done {
		t.Fatal(res.Reason)
	}
	return res.Tampered
}

func TestTamperDetector(t *testing.T) {
	t.Parallel()
	write := func(path ...string) deed {
		return func() error {
			var errs []error
			for _, p := range path {
				errs = append(errs, os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte("new"), 0o600))
			}
			return errors.Join(errs...)
		}
	}
	for name, c := range map[string]struct {
		does func(dir string, l *journal.Log) deed
		want string
	}{
		"nothing":  {func(string, *journal.Log) deed { return func() error { return nil } }, ""},
		"the plan": {func(d string, _ *journal.Log) deed { return write(d + "/plan.json") }, "plan.json"},
		"no plan": {func(d string, _ *journal.Log) deed { return func() error { return os.Remove(d + "/plan.json") } },
			"plan.json"},
		"an expert": {func(d string, _ *journal.Log) deed { return write(d + "/.loop/experts/a.md") },
			".loop/experts/a.md"},
		"a projection": {func(d string, _ *journal.Log) deed { return write(d + "/.loop/state.json") },
			".loop/state.json"},
		"one removed": {func(d string, _ *journal.Log) deed {
			return func() error { return os.Remove(d + "/.loop/PROGRESS.md") }
		}, ".loop/PROGRESS.md"},
		"its base": {func(d string, _ *journal.Log) deed { return write(d + "/.loop/runs/r/tasks/a/base.json") },
			".loop/runs"},
		"all": {func(d string, _ *journal.Log) deed { return func() error { return os.RemoveAll(d + "/.loop") } },
			".loop"},
		"the journal": {func(d string, _ *journal.Log) deed { return write(d + "/.loop/journal.jsonl") },
			".loop/journal.jsonl"},
		"a line of it": {func(d string, _ *journal.Log) deed {
			return func() error {
				f, err := os.OpenFile(d+"/.loop/journal.jsonl", os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				_, err = f.WriteString("{\"type\":\"gate_ended\"}\n")
				return errors.Join(err, f.Close())
			}
		}, ".loop/journal.jsonl"},
		"parts that wavex is writing": {func(d string, _ *journal.Log) deed {
			return write(d+"/.loop/state.json.next", d+"/.loop/PROGRESS.md.next", d+"/.loop/workflow-state.json.next",
				d+"/.loop/hook.json.next")
		}, ""},
		"what wavex writes": {func(d string, l *journal.Log) deed {
			return func() error {
				return errors.Join(l.Append([]byte(`{"n":2}`)), l.Sync(),
					os.WriteFile(d+"/.loop/PROGRESS.md", []byte("wavex wrote this"), 0o600),
					write(d+"/.loop/hook.json", d+"/.loop/runs/r/tasks/b/base.json", d+"/.loop/worktrees/r.1/x",
						d+"/.loop/hook/1.json")())
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			loop := loop.In(dir)
			testrepo.Must(t, write(dir+"/plan.json", dir+"/.loop/PROGRESS.md", dir+"/.loop/runs/r/tasks/a/base.json")())
			for _, p := range []string{"plan.json", ".loop/PROGRESS.md", ".loop/runs/r/tasks/a/base.json"} {
				testrepo.Must(t, os.WriteFile(filepath.Join(dir, p), []byte("old"), 0o600))
			}
			log, _, err := journal.Open(string(loop + "/journal.jsonl"))
			testrepo.Must(t, err)
			defer func() { _ = log.Close() }()
			testrepo.Must(t, errors.Join(log.Append([]byte(`{"n":1}`)), log.Sync()))
			s := tamperDetector{loop: loop, plan: dir + "/plan.json",
				isOwnWrite: func(_ string, text []byte) bool { return strings.HasPrefix(string(text), "wavex") },
				moved:      func() error { return nil }}
			var got []string
			req := runner.Request{Baseline: string(loop + "/runs/r/tasks/a/base.json")}
			for _, m := range s.tampers(t, req, c.does(dir, log)) {
				rel, err := filepath.Rel(dir, m.Path)
				if err != nil {
					rel = m.Path
				}
				got = append(got, rel)
			}
			if fmt.Sprint(got) != "["+c.want+"]" {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}
