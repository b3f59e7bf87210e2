package lazy_test

import (
	"testing"

	"wavex/internal/lazy"
)

func TestRegexp(t *testing.T) {
	t.Parallel()
	word := lazy.Regexp(`\w+`)
	if got := word().FindString("- one two"); got != "one" {
		t.Errorf("it finds %q", got)
	}
	if first, again := word(), word(); first != again {
		t.Error("it is compiled again")
	}
	wrong := lazy.Regexp(`(`) // not yet
	defer func() {
		if recover() == nil {
			t.Error("a pattern that is none is taken")
		}
	}()
	wrong()
}
