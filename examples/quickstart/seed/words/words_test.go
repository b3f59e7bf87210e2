package words

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for in, want := range map[string][]string{
		"":                     nil,
		"One fish, two fish.":  {"one", "fish", "two", "fish"},
		"  it's -- red  BLUE ": {"it's", "red", "blue"},
	} {
		if got := Split(in); !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", in, got, want)
		}
	}
}
