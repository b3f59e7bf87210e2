package report

import "testing"

func TestOf(t *testing.T) {
	if got, want := Of("One fish, two fish.", 2), "fish  2\none   1\n"; got != want {
		t.Errorf("Of =\n%q, want\n%q", got, want)
	}
}
