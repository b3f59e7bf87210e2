//go:build unix

package bench

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

// TestMain also makes the binary the bare program, and builds wavex once.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bare" {
		if err := runBare(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.IntVar(&benchFlags.rounds, "rounds", 5, "rounds of each comparison")
	flag.BoolVar(&benchFlags.large, "large", false, "measure the check of a million tasks too")
	flag.StringVar(&benchFlags.claude, "claude", os.Getenv("WAVEX_CLAUDE"), "the claude CLI, for the fleet")
	flag.StringVar(&benchFlags.files, "files", "", "numbers of files of generated repositories: 500,10000")
	flag.StringVar(&benchFlags.against, "against", "",
		"another wavex, to be measured in the same repositories; earlier: the one of earlierCommit")
	flag.Parse()
	os.Exit(m.Run())
}

// benchFlags holds the options of the command line; TestMain sets it.
var benchFlags struct {
	rounds  int
	large   bool
	claude  string
	files   string
	against string
}

// wavexBinary returns the path of the wavex built from this checkout.
func wavexBinary(b *testing.B) string {
	b.Helper()
	path, clean, err := rig.Wavex(b.Context())
	testrepo.Must(b, err)
	b.Cleanup(clean)
	return path
}

// competitor is one program in a race. It runs in a fresh folder.
type competitor struct {
	name string
	argv []string
	env  []string // nil: the environment of this process
	code int      // the expected exit code
	// prepare fills the folder before the time begins, if it is not nil.
	prepare func(dir string)
}

// score holds the measurements of one contestant, by round.
type score struct {
	wall, cpu []float64 // milliseconds
	rss       float64   // largest resident set, in megabytes
}

func (s score) median() float64 { return median(s.wall) }

// race runs the contestants in turns, after one round that does not count, and prints their
// medians. Ratios are medians of the ratios within a round.
func race(b *testing.B, title string, list []competitor) map[string]*score {
	b.Helper()
	list = slices.DeleteFunc(list, func(c competitor) bool {
		_, err := exec.LookPath(c.argv[0])
		if err != nil {
			fmt.Printf("%s: %s is not installed: not measured\n", title, c.argv[0])
		}
		return err != nil
	})
	scores := map[string]*score{}
	root := b.TempDir()
	for round := range benchFlags.rounds + 1 {
		for _, c := range list {
			// Delete nothing between rounds: ext4 creates files slowly where some were just
			// deleted.
			dir := filepath.Join(root, fmt.Sprintf("%s-%d", strings.ReplaceAll(c.name, " ", "-"), round))
			testrepo.Must(b, os.Mkdir(dir, 0o755))
			wall, cpu, rss := measureOnce(b, c, dir)
			if round == 0 {
				scores[c.name] = &score{}
				continue
			}
			s := scores[c.name]
			s.wall, s.cpu, s.rss = append(s.wall, wall), append(s.cpu, cpu), max(s.rss, rss)
		}
	}
	fmt.Printf("\n%s (medians of %d rounds in turns)\n", title, benchFlags.rounds)
	for _, c := range list {
		s := scores[c.name]
		fmt.Printf("  %-28s %9.1f ms  %9.1f ms CPU  %6.0f MB  x %.2f\n", c.name, s.median(), median(s.cpu), s.rss,
			ratio(s.wall, scores[list[0].name].wall))
	}
	return scores
}

func measureOnce(b *testing.B, c competitor, dir string) (wall, cpu, rss float64) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = dir, c.env
	if c.prepare != nil {
		c.prepare(dir)
	}
	errs, err := os.Create(dir + ".stderr")
	testrepo.Must(b, err)
	defer errs.Close()
	cmd.Stderr = errs
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.code {
		said, _ := os.ReadFile(errs.Name())
		b.Fatalf("%s: %v\n%s", c.name, err, said[max(0, len(said)-2000):])
	}
	st := cmd.ProcessState
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		rss = float64(ru.Maxrss) / 1024
	}
	return ms(took), ms(st.UserTime() + st.SystemTime()), rss
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// ratio returns the median of the ratios within rounds.
func ratio(a, to []float64) float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / to[i]
	}
	return median(r)
}

// checkBound prints a measurement beside its limit.
func checkBound[T cmp.Ordered](b *testing.B, what string, got, most T) {
	word := "held"
	if got > most {
		word = "MISSED"
	}
	fmt.Printf("  %s: %.2f, at most %.2f: %s\n", what, any(got), any(most), word)
}
