package request

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// offlineLine returns all results for a request without a model, in one line.
func offlineLine(request string) string {
	s := offlineScore(request)
	d := decide(s, 0, "")
	k, u := classifyWorkflow(request), classifyReversibility(request)
	var phases []string
	for _, p := range phasesOf(s, k, u) {
		phases = append(phases, string(p))
	}
	marks := ""
	for _, r := range s.ratings() {
		marks += fmt.Sprint(r.Points)
	}
	return fmt.Sprintf("%s=%d fit %d %s (spec %s, fit %s) | %s by %s | %s by %s | %s", marks, d.Spec, d.Fit, d.Shape,
		d.BySpec, d.ByFit,
		k.Workflow, k.By, u.Class, u.By, strings.Join(append(phases, "tasks"), "+"))
}

// The golden file has thirty requests, from the vaguest to the clearest. A person must read it when
// it changes: each line is a claim about the request above it.
func TestGolden(t *testing.T) {
	t.Parallel()
	requests, err := os.ReadFile("testdata/requests.txt")
	testrepo.Must(t, err)
	var b strings.Builder
	n := 0
	for line := range strings.Lines(string(requests)) {
		line = strings.TrimSpace(line)
		n++
		fmt.Fprintf(&b, "%s\n    %s\n", line, offlineLine(line))
	}
	if n != 30 {
		t.Errorf("%d requests, want 30", n)
	}
	for _, shape := range []Autonomy{Blocked, Colleague, ToolReview, Tool} {
		if !strings.Contains(b.String(), fmt.Sprintf(" %s (spec", shape)) {
			t.Errorf("no request is %s", shape)
		}
	}
	if *update {
		testrepo.Must(t, os.WriteFile("testdata/golden.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/golden.txt")
	testrepo.Must(t, err)
	wants, gots := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range gots {
		if i >= len(wants) || gots[i] != wants[i] {
			t.Errorf("line %d: %q, want %q", i+1, gots[i], wants[min(i, len(wants)-1)])
		}
	}
}
