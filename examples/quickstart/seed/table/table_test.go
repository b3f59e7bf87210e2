package table

import "testing"

func TestRender(t *testing.T) {
	got := Render([][2]string{{"fish", "3"}, {"one", "12"}})
	want := "fish   3\none   12\n"
	if got != want {
		t.Errorf("Render =\n%q, want\n%q", got, want)
	}
	if Render(nil) != "" {
		t.Error("no rows, no text")
	}
}
