package gitwork

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBisect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n    int
		red  [][]int // a set is red when it contains one of these
		want []int
	}{
		"one alone":              {8, [][]int{{5}}, []int{5}},
		"all alone":              {3, [][]int{{0}, {1}, {2}}, []int{0, 1, 2}},
		"a pair: who came later": {8, [][]int{{2, 6}}, []int{6}},
		"three together":         {8, [][]int{{1, 3, 7}}, []int{7}},
		"one against everybody":  {5, [][]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}}, []int{0}},
		"two pairs apart":        {6, [][]int{{0, 1}, {3, 5}}, []int{1, 5}},
		"alone and a pair":       {6, [][]int{{4}, {0, 2}}, []int{2, 4}},
		"just one":               {1, [][]int{{0}}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := bisect(c.n, func(set []int) (bool, error) { return !hasFailingSet(set, c.red), nil })
			must(t, err)
			var who []int
			for _, b := range got {
				who = append(who, b.task)
			}
			slices.Sort(who)
			equal(t, "the culprits", who, c.want)
		})
	}
}

func hasFailingSet(set []int, red [][]int) bool {
	return slices.ContainsFunc(red, func(r []int) bool {
		return !slices.ContainsFunc(r, func(x int) bool { return !slices.Contains(set, x) })
	})
}

// For any red sets: the rest is green, every blamed task is in a red set, every core is red and
// minimal, and few questions are asked.
func TestBisectProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		one := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, min(n, 3), rapid.ID[int])
		red := rapid.SliceOfN(one, 1, 3).Draw(t, "red")
		asked := 0
		got, err := bisect(n, func(set []int) (bool, error) {
			if !slices.IsSorted(set) {
				t.Fatalf("asked for %v, which is not in order", set)
			}
			asked++
			return !hasFailingSet(set, red), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var rest []int
		for i := range n {
			if !slices.ContainsFunc(got, func(b culpritSet) bool { return b.task == i }) {
				rest = append(rest, i)
			}
		}
		if hasFailingSet(rest, red) {
			t.Fatalf("%v is still red with %v", rest, red)
		}
		for _, b := range got {
			if !hasFailingSet(b.core, red) || !slices.Contains(b.core, b.task) {
				t.Fatalf("the core %v of %d is not red", b.core, b.task)
			}
			for _, x := range b.core {
				if hasFailingSet(without(b.core, x), red) {
					t.Fatalf("the core %v is red without %d", b.core, x)
				}
			}
		}
		if len(red) == 1 && len(got) != 1 {
			t.Fatalf("%d are left out for one reason", len(got))
		}
		if most := len(got) * (1 + 4*(bits.Len(uint(n))+2)); asked > most {
			t.Fatalf("asked %d times, more than %d", asked, most)
		}
	})
}

// bisect also ends with unsteady checks and with errors.
func TestBisectOfFlakyChecks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		answers := rapid.SliceOfN(rapid.Bool(), 0, 40).Draw(t, "answers")
		asked := 0
		got, err := bisect(n, func([]int) (bool, error) {
			asked++
			return asked <= len(answers) && answers[asked-1], nil
		})
		if err != nil || len(got) == 0 || len(got) > n {
			t.Fatalf("%d are left out of %d, %v", len(got), n, err)
		}
	})
	stop := errors.New("stop")
	if _, err := bisect(4, func([]int) (bool, error) { return false, stop }); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRefComponent(f *testing.F) {
	for _, s := range []string{"a", "T-1", "a b", "a.lock", "..", "ü", "=41", "a/b",
		"\xd8.\x1a" + strings.Repeat("\x01", 60)} {
		f.Add(s, s+".")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if x := RefComponent(a); a != "" && !refPart(x) {
			t.Errorf("%q becomes %q, which git refuses", a, x)
		}
		if a != b && RefComponent(a) == RefComponent(b) {
			t.Errorf("%q and %q are both %q", a, b, RefComponent(a))
		}
	})
}

// refPart reports whether s is a valid component by git-check-ref-format(1).
func refPart(s string) bool {
	if s == "" || s[0] == '.' || s[len(s)-1] == '.' || len(s) > math.MaxUint8-20 || len(s) >= 5 &&
		s[len(s)-5:] == ".lock" {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f || slices.Contains([]byte(`~^:?*[\/`), s[i]) || s[i] == '.' && s[i+1] == '.' ||
			s[i] == '@' && i+1 < len(s) && s[i+1] == '{' {
			return false
		}
	}
	return true
}
