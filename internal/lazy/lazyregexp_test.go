package lazy_test

import (
	"testing"

	"wavex/internal/lazy"
)

func TestNew(t *testing.T) {
	t.Parallel()
	word := lazy.New(`\w+`)
	if got := word().FindString("- one two"); got != "one" {
		t.Errorf("it finds %q", got)
	}
	if first, again := word(), word(); first != again {
		t.Error("it is compiled again")
	}
	wrong := lazy.New(`(`) // not yet
	defer func() {
		if recover() == nil {
			t.Error("a pattern that is none is taken")
		}
	}()
	wrong()
}
