package plan

import (
	"math"
	"testing"
)

func TestDefaultIterations(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]int{0: 10, 1: 10, 3: 10, 4: 25, 8: 25, 9: 50, 25: 50, 26: 52, 100: 200,
		math.MaxInt / 2: math.MaxInt - 1, math.MaxInt/2 + 1: math.MaxInt, math.MaxInt: math.MaxInt} {
		if got := DefaultIterations(tasks); got != want {
			t.Errorf("%d tasks: %d, want %d", tasks, got, want)
		}
	}
}
