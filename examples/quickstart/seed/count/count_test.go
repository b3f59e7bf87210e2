package count

import (
	"slices"
	"testing"
)

func TestTop(t *testing.T) {
	words := []string{"fish", "one", "fish", "two", "one", "fish"}
	if got, want := Top(words, 2), []Entry{{"fish", 3}, {"one", 2}}; !slices.Equal(got, want) {
		t.Errorf("Top 2 = %v, want %v", got, want)
	}
	if got, want := Top([]string{"b", "a"}, 9), []Entry{{"a", 1}, {"b", 1}}; !slices.Equal(got, want) {
		t.Errorf("ties are in alphabetical order: got %v, want %v", got, want)
	}
}
