//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
)

// graphlib is a program for Python's standard topological sort of the plan.
const graphlib = `import graphlib, json, sys
g = graphlib.TopologicalSorter()
for t in json.load(open(sys.argv[1]))["tasks"]: g.add(t["id"], *t["blockedBy"])
print(sum(1 for _ in g.static_order()))`

// web writes a graph of n tasks with five blockers each, in the format of each tool.
func web(b *testing.B, dir string, n int) {
	b.Helper()
	var files [4]*bufio.Writer
	for i, name := range []string{"plan.json", "Makefile", "build.ninja", "pairs"} {
		f, err := os.Create(filepath.Join(dir, name))
		testrepo.Must(b, err)
		defer f.Close()
		files[i] = bufio.NewWriterSize(f, 1<<20)
		defer files[i].Flush()
	}
	plan, mk, nj, pairs := files[0], files[1], files[2], files[3]
	fmt.Fprintf(plan, `{"name":"web","budget":{"iterations":%d},"tasks":[`, n)
	fmt.Fprintf(mk, "all: t%d\n", n-1)
	fmt.Fprintln(nj, "rule t\n  command = true")
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		if i > 0 {
			fmt.Fprint(plan, ",")
		}
		fmt.Fprintf(plan, "\n"+`{"id":"t%d","subject":"Task number %d of the web","command":"true","files":[{"path":"src/f%d.go","action":"modify"}],"blockedBy":[`, i, i, i)
		fmt.Fprintf(mk, "t%d:", i)
		fmt.Fprintf(nj, "build t%d: t", i)
		seen := map[int]bool{}
		for len(seen) < min(5, i) {
			k := i - 1 - rnd.IntN(min(i, 1000))
			if seen[k] {
				continue
			}
			if len(seen) > 0 {
				fmt.Fprint(plan, ",")
			}
			seen[k] = true
			fmt.Fprintf(plan, `"t%d"`, k)
			fmt.Fprintf(mk, " t%d", k)
			fmt.Fprintf(nj, " t%d", k)
			fmt.Fprintf(pairs, "t%d t%d\n", k, i)
		}
		fmt.Fprint(plan, "]}")
		fmt.Fprint(mk, "\n\t@true\n")
		fmt.Fprintln(nj)
	}
	fmt.Fprint(plan, "]}\n")
}

// BenchmarkCheck compares reading and checking a plan with tools that read a graph.
func BenchmarkCheck(b *testing.B) {
	wavex := wavexBinary(b)
	sizes := []int{1000, 10_000, 100_000}
	if benchFlags.large {
		sizes = append(sizes, 1_000_000)
	}
	for b.Loop() {
		for _, n := range sizes {
			dir := b.TempDir()
			web(b, dir, n)
			in := func(name string) string { return filepath.Join(dir, name) }
			list := []competitor{
				{name: "wavex check", argv: []string{wavex, "check", in("plan.json")}},
				{name: "make -n", argv: []string{"make", "-n", "-f", in("Makefile")}},
				{name: "ninja -n", argv: []string{"ninja", "-n", "-f", in("build.ninja")}},
				{name: "tsort", argv: []string{"tsort", in("pairs")}},
				{name: "graphlib", argv: []string{"python3", "-c", graphlib, in("plan.json")}},
			}
			if n > 100_000 {
				list = list[:2] // the others take minutes
			}
			s := race(b, fmt.Sprintf("check of %d tasks", n), list)
			w := s["wavex check"]
			if m := s["make -n"]; m != nil {
				r := ratio(w.wall, m.wall)
				b.ReportMetric(1/r, fmt.Sprintf("x-faster-than-make/%dk", n/1000))
				if n == 100_000 {
					checkBound(b, "of make -n", r, 1.0/3)
				}
			}
			if n == 1_000_000 {
				checkBound(b, "seconds", w.median()/1000, 6)
				checkBound(b, "megabytes", w.rss, 1500)
			}
		}
	}
}
