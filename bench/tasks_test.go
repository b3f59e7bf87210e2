//go:build unix

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"wavex/internal/testrepo"
)

// These are the sizes of the grid: layers of no-op commands, each with three blockers in the
// previous layer.
const (
	layers = 20
	wide   = 100
)

// runBare is the baseline program: "bare LAYERS WIDE PROGRAM" runs the program with an errgroup, eight
// at a time, reads its output from a pipe, and writes no journal.
func runBare() error {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	width, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	for range n {
		var g errgroup.Group
		g.SetLimit(8)
		for range width {
			g.Go(func() error {
				var out bytes.Buffer
				c := exec.Command(os.Args[4])
				c.Stdout, c.Stderr = &out, &out
				return c.Run()
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// grid writes the same graph in the format of each tool.
func grid(b *testing.B, dir string) (plan, makefile, ninja string) {
	b.Helper()
	type task struct {
		ID        string   `json:"id"`
		Command   string   `json:"command"`
		BlockedBy []string `json:"blockedBy,omitempty"`
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var tasks []task
	for l := range layers {
		for i := range wide {
			t := task{ID: fmt.Sprintf("t%d_%d", l, i), Command: "/bin/true"}
			for _, k := range rnd.Perm(wide)[:3] {
				if l > 0 {
					t.BlockedBy = append(t.BlockedBy, fmt.Sprintf("t%d_%d", l-1, k))
				}
			}
			tasks = append(tasks, t)
		}
	}
	data, err := json.Marshal(map[string]any{"name": "grid", "budget": map[string]any{"iterations": len(tasks)},
		"tasks": tasks})
	testrepo.Must(b, err)
	var mk, nj strings.Builder
	nj.WriteString("rule t\n  command = /bin/true\n")
	var all []string
	for _, t := range tasks {
		all = append(all, t.ID)
		fmt.Fprintf(&mk, "%s: %s\n\t@/bin/true\n", t.ID, strings.Join(t.BlockedBy, " "))
		fmt.Fprintf(&nj, "build %s: t %s\n", t.ID, strings.Join(t.BlockedBy, " "))
	}
	names := strings.Join(all, " ")
	return file(b, dir, "plan.json", string(data)),
		file(b, dir, "Makefile", ".PHONY: all "+names+"\nall: "+names+"\n"+mk.String()),
		file(b, dir, "build.ninja", nj.String())
}

func file(b *testing.B, dir, name, text string) string {
	b.Helper()
	path := filepath.Join(dir, name)
	testrepo.Must(b, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// BenchmarkTasks measures the overhead of wavex over the processes that it starts.
func BenchmarkTasks(b *testing.B) {
	wavex, self := wavexBinary(b), must(os.Executable())
	plan, makefile, ninja := grid(b, b.TempDir())
	const n = layers * wide
	for b.Loop() {
		s := race(b, fmt.Sprintf("%d tasks of /bin/true in %d layers at -j8", n, layers), []competitor{
			{name: "bare", argv: []string{self, "bare", strconv.Itoa(layers), strconv.Itoa(wide), "/bin/true"}},
			{name: "wavex", argv: []string{wavex, "run", plan, "--trust", "-j8", "--plain"}},
			{name: "wavex eager", argv: []string{wavex, "run", plan, "--trust", "-j8", "--plain", "--schedule", "eager"}},
			{name: "make", argv: []string{"make", "-j8", "-f", makefile}},
			{name: "ninja", argv: []string{"ninja", "-j8", "-f", ninja}},
			{name: "xargs, no graph", argv: []string{"sh", "-c", fmt.Sprintf("seq %d | xargs -P8 -n1 /bin/true", n)}},
		})
		r := ratio(s["wavex"].wall, s["bare"].wall)
		checkBound(b, "wavex over bare", r, 1.3)
		b.ReportMetric(r, "x-bare")
		if m := s["make"]; m != nil {
			checkBound(b, "wavex over make", ratio(s["wavex"].wall, m.wall), 1.0)
			b.ReportMetric(ratio(s["wavex"].wall, m.wall), "x-make")
		}
		own := (median(s["wavex"].cpu) - median(s["bare"].cpu)) / n
		checkBound(b, "ms of CPU a task more than bare", own, 0.5)
		b.ReportMetric(own, "ms-CPU/task")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
