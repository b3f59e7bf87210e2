//go:build unix

package e2e

// This file runs the quickstart of the README: with the rehearsal agent, again, and then with real
// processes in the same folder. Afterwards the project's own tests pass.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// quickstart returns a copy of examples/quickstart.
func quickstart(t *testing.T) repo {
	t.Helper()
	r := newRepo(t, "")
	from := filepath.Join("..", "examples", "quickstart")
	for _, name := range []string{"seed", "solution", "reset"} {
		testrepo.Must(t, os.CopyFS(filepath.Join(r.dir, name), os.DirFS(filepath.Join(from, name))))
	}
	data, err := os.ReadFile(filepath.Join(from, "plan.json"))
	testrepo.Must(t, err)
	r.write("plan.json", string(data))
	r.write("go.mod", "module quickstart\n\ngo 1.24\n") // in the checkout it belongs to wavex's own module
	return r
}

// works runs the finished project's own tests.
func works(t *testing.T, r repo) {
	t.Helper()
	for _, args := range [][]string{{"test", "./..."}, {"run", "./cmd/tally"}} {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Env = append(os.Environ(), goFlags)
		c.Dir = filepath.Join(r.dir, "project")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("go %v in the finished project: %v\n%s", args, err, out)
		}
	}
}

// rehearseQuickstart runs the quickstart twice with the rehearsal agent. The second time it is up to date.
func rehearseQuickstart(t *testing.T, r repo) {
	t.Helper()
	srv := fakeapi.New(t, fakeapi.Script{}) // any request fails the test
	for _, iterations := range []int{8, 0} {
		e := r.wavex(srv, "run", "plan.json", "--agent", "rehearse", "--output", "json").end()
		_, end := e.events(t)
		if e.exit != 0 || end.Tasks.Completed != 7 || end.Iterations != iterations || iterations == 0 && end.CostUSD != 0 {
			t.Fatalf("exit %d, %+v, want %d iterations\n%s", e.exit, end, iterations, e.stderr)
		}
		works(t, r)
	}
}

func TestQuickstart(t *testing.T) {
	t.Parallel()
	r := quickstart(t)
	rehearseQuickstart(t, r)
	solution := func(path string) string {
		data, err := os.ReadFile(filepath.Join(r.dir, "solution", path))
		testrepo.Must(t, err)
		return string(data)
	}
	var agents []*fakeapi.Agent
	for _, a := range [][3]string{
		{"T-002", "words/words.go", "go -C project test ./words"},
		{"T-003", "count/count.go", "go -C project test ./count"},
		{"T-004", "table/table.go", "go -C project test ./table"},
		{"T-005", "report/report.go", "go -C project test ./..."},
		{"T-007", "cmd/tally/main.go", "go -C project vet ./..."},
	} {
		agents = append(agents, author(a[0], "project/"+a[1], solution(a[1]), a[2], nil))
	}
	// The CLI refuses to write an existing file that was not read before.
	agents = append(agents, &fakeapi.Agent{Name: "T-006", When: task("T-006"), Steps: []fakeapi.Reply{
		fakeapi.Use(fakeapi.Read(filepath.Join(r.dir, "project/README.md"))).WithUsage(use),
		fakeapi.Use(fakeapi.Write("project/README.md", solution("README.md"))).WithUsage(use), report("true")}})
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	for _, iterations := range []int{7, 0} { // rehearsed work does not count, and the second run is up to date
		e := r.wavex(srv, "run", "plan.json", "--output", "json").end()
		_, end := e.events(t)
		if e.exit != 0 || end.Tasks.Completed != 7 || end.Iterations != iterations || iterations == 0 && end.CostUSD != 0 {
			t.Fatalf("exit %d, %+v, want %d iterations\n%s\n%s", e.exit, end, iterations, e.stderr, e.stdout)
		}
		works(t, r)
	}
}
