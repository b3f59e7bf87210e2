package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/plan"
)

// The original phase plans of the samples, and the expected result of each. They belong to other
// people and are not kept here. With WAVEX_SAMPLES=DIR the test also runs on them.
func TestSamplesGiveWhatTheirOriginalsDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sample, original string
		tasks            int
		waves            string // tasks by wave as run, a sequential one in brackets
		alone            string // pairs that share a file in one wave, and so run one after the other
		checks           string // files, contents, words; "": the original does not say
	}{
		{"loop.plan.md", "phase-loop-mechanism.plan.md", 7, "3 [2] [2]", "", "2 20 1"},
		{"grep.plan.md", "phase-grep-checks.plan.md", 4, "2 2", "03-04", ""},
		{"flat.json", "phase-flat.plan.json", 4, "2 2", "", ""},
		{"sequential.json", "phase-nested-sequential.plan.json", 3, "[3]", "01-02 01-03 02-03", ""},
		{"fourwaves.json", "phase-nested-four-waves.plan.json", 8, "2 2 2 2", "01-02 03-04 05-06", ""},
		{"hybrid.json", "phase-hybrid.plan.json", 2, "2", "", ""},
	} {
		paths := []string{filepath.Join("testdata", "imports", c.sample)}
		if dir := os.Getenv("WAVEX_SAMPLES"); dir != "" {
			paths = append(paths, filepath.Join(dir, c.original))
		}
		for _, path := range paths {
			p, ds, err := Load(path, plan.Options{})
			if p == nil {
				t.Errorf("%s: %v %v", path, err, ds)
				continue
			}
			waves, alone, checks := shape(p)
			if len(p.Tasks) != c.tasks || waves != c.waves || alone != c.alone || c.checks != "" && checks != c.checks {
				t.Errorf("%s: %d tasks, waves %s, %q take turns, checks %s", path, len(p.Tasks), waves, alone, checks)
			}
		}
	}
}

// shape returns the compared counts of an original.
func shape(p *plan.Plan) (waves, alone, checks string) {
	wave, total := p.Waves()
	var sizes, turns []string
	for w := 1; w <= total; w++ {
		n := 0
		for i := range p.Tasks {
			if wave[i] != w {
				continue
			}
			n++
			for j := range i {
				if wave[j] == w && together(p.Tasks[i].Files, p.Tasks[j].Files) {
					turns = append(turns, p.Tasks[j].ID+"-"+p.Tasks[i].ID)
				}
			}
		}
		size := fmt.Sprint(n)
		if p.Sequential(w) {
			size = "[" + size + "]"
		}
		sizes = append(sizes, size)
	}
	var files, contents, words int
	for i := range p.Tasks {
		words += len(p.Tasks[i].Criteria)
		for _, k := range p.Tasks[i].Verify {
			switch {
			case k.Contains != "" || k.Matches != "":
				contents++
			case k.File != "":
				files++
			}
		}
	}
	return strings.Join(sizes, " "), strings.Join(turns, " "), fmt.Sprint(files, " ", contents, " ", words)
}

func together(a, b []plan.File) bool {
	for _, f := range a {
		for _, g := range b {
			if f.Writes() && g.Writes() && f.Path == g.Path {
				return true
			}
		}
	}
	return false
}
