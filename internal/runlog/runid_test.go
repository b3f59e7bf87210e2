package runlog

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Ids sort by time, differ from other words, and are no paths.
func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string) time.Time {
			zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, name+" zone"))
			return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, name), 0).In(zone)
		}
		x, y := at("x"), at("y")
		a, b := NewID(x), NewID(y)
		if !ValidID(a) || !ValidID(b) {
			t.Fatalf("%s or %s is no id", a, b)
		}
		if x.Before(y) && a >= b {
			t.Fatalf("%s is made before %s", a, b)
		}
	})
	good := NewID(time.Now())
	for _, bad := range []string{"", "r-1", "plan.json", good[:len(good)-1], good + "x", good[:len(good)-4] + "/../",
		good[:len(good)-4] + "a/b.", good[:len(good)-4] + "....", good[:len(good)-4] + "a\nbc",
		"20261301-000000-abcd", "20261121-256000-abcd", "20261121_150405-abcd", " " + good} {
		if ValidID(bad) {
			t.Errorf("%q is an id", bad)
		}
	}
}
