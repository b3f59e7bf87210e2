package plan

import (
	"fmt"
	"testing"
)

// The commands of a list that comes with the run are shown before it is known.
func TestCommandsOfALateList(t *testing.T) {
	t.Parallel()
	p, ds := Parse("plan.json", []byte(`{"setup":"prepare","tasks":[
		{"id":"a","foreach":{"command":"ls"},"subject":"A","verify":["look ${item}"],"criteria":[{"text":"c","check":"judge"}]},
		{"id":"b","foreach":{"command":"ls"},"steps":[{"name":"x","command":"one ${item}"},{"subject":"B","verify":["two"]}]},
		{"id":"c","command":"last"}]}`), Options{})
	if p == nil {
		t.Fatal(ds)
	}
	const want = "[{prepare []} {last [c]} {ls [a.list b.list]} " +
		"{look ${item} [a]} {judge [a]} {one ${item} [b]} {two [b]}]"
	if got := fmt.Sprint(p.Commands()); got != want {
		t.Errorf("the commands are\n%s, want\n%s", got, want)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Check{
		"go test ./...":        {Run: "go test ./..."},
		"a.go exists":          {File: "a.go"},
		`a.go contains "x\"y"`: {File: "a.go", Contains: `x"y`},
		"a.go matches /^x$/":   {File: "a.go", Matches: "^x$"},
	} {
		if got := c.Describe(); got != want {
			t.Errorf("Describe(%+v) = %q, want %q", c, got, want)
		}
	}
}
