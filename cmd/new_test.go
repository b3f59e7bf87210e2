package cmd

import (
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// A task that no plan takes is asked for again, and the others are kept.
func TestNewAsksAgain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	answers := "First\na.txt\n\nSecond\n../b.txt\n\nSecond\nb.txt\n\n\n"
	tasks, err := promptTasks(t.Context(), newPrompter(Stdio{In: strings.NewReader(answers), Err: &out}))
	testrepo.Must(t, err)
	want := []newTask{{"First", "a.txt", "test -s a.txt"}, {"Second", "b.txt", "test -s b.txt"}}
	if !slices.Equal(tasks, want) {
		t.Errorf("the tasks are %v", tasks)
	}
	const refusal = `"../b.txt" leaves the directory; name a path inside it; once more:`
	if text := out.String(); !strings.Contains(text, refusal) {
		t.Errorf("it says %s", text)
	}
}
