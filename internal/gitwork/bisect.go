package gitwork

import (
	"slices"
	"strconv"
	"strings"
)

// This file finds the tasks that make a wave fail. It is pure: it only asks whether a set of tasks
// is green together, and knows neither tasks nor checks.

// culpritSet is a task to leave out, and the smallest set found that is red with it.
type culpritSet struct {
	task int
	core []int
}

// bisect returns tasks to leave out of 0..n-1 so that the rest is green. The caller knows that the
// whole set is red; the empty set counts as green. bisect asks about log n
// questions for one culprit among n, plus one for each task that it is red with.
//
// If a smallest red set has several tasks, bisect leaves out the one without which all the others
// are green. If several would do, it takes the last in plan order, so that earlier tasks have
// precedence.
func bisect(n int, green func([]int) (bool, error)) ([]culpritSet, error) {
	known := map[string]bool{}
	ask := func(set []int) (bool, error) {
		if len(set) == 0 {
			return true, nil
		}
		key := setKey(set)
		if ok, asked := known[key]; asked {
			return ok, nil
		}
		ok, err := green(set)
		known[key] = ok
		return ok, err
	}
	rest := make([]int, n)
	for i := range rest {
		rest[i] = i
	}
	known[setKey(rest)] = false
	var out []culpritSet
	for {
		ok, err := ask(rest)
		if err != nil || ok {
			return out, err
		}
		core, err := minimalFailingSet(rest, ask)
		if err != nil {
			return nil, err
		}
		who, err := chooseCulprit(rest, core, ask)
		if err != nil {
			return nil, err
		}
		out = append(out, culpritSet{who, core})
		rest = without(rest, who)
	}
}

// chooseCulprit returns the task of a red set to leave out.
func chooseCulprit(rest, core []int, ask func([]int) (bool, error)) (int, error) {
	for _, who := range slices.Backward(core) {
		if len(core) == 1 {
			break
		}
		if ok, err := ask(without(rest, who)); err != nil || ok {
			return who, err
		}
	}
	return core[len(core)-1], nil
}

// minimalFailingSet returns a minimal red set, in order: removing any task makes it green, provided that
// adding tasks never makes a red set green. Its last task ends the shortest red prefix.
func minimalFailingSet(red []int, ask func([]int) (bool, error)) ([]int, error) {
	var core []int // in reverse order
	before := red
	for {
		// Find the shortest prefix of before that is red together with core.
		low, high := 0, len(before) // low is green, high is red
		if len(core) > 0 {
			if ok, err := ask(reversed(core)); err != nil {
				return nil, err
			} else if !ok {
				return reversed(core), nil
			}
		}
		for high-low > 1 {
			mid := (low + high) / 2
			ok, err := ask(append(slices.Clone(before[:mid]), reversed(core)...))
			if err != nil {
				return nil, err
			}
			if ok {
				low = mid
			} else {
				high = mid
			}
		}
		if high == 0 { // an unsteady check: return the set found so far
			return reversed(core), nil
		}
		core = append(core, before[high-1])
		before = before[:high-1]
	}
}

func reversed(s []int) []int {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}

func without(s []int, x int) []int {
	return slices.DeleteFunc(slices.Clone(s), func(y int) bool { return y == x })
}

func setKey(s []int) string {
	var b strings.Builder
	for _, x := range s {
		b.WriteString(strconv.Itoa(x))
		b.WriteByte(' ')
	}
	return b.String()
}
