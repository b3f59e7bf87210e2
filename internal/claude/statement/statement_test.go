package statement

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestList(t *testing.T) {
	t.Parallel()
	if n := len(All()); n > 8 {
		t.Errorf("wavex relies on %d statements, want at most 8", n)
	}
	seen := map[ID]bool{}
	for _, s := range All() {
		if seen[s.ID] {
			t.Errorf("%s is in the list twice", s.ID)
		}
		seen[s.ID] = true
		if !strings.HasSuffix(s.Text, ".") || s.Fallback == "" || strings.HasSuffix(s.Fallback, ".") {
			t.Errorf("%s: %q, else %q", s.ID, s.Text, s.Fallback)
		}
	}
	for i, r := range Releases() {
		if i > 0 && r.Date <= Releases()[i-1].Date || r.Size == 0 {
			t.Errorf("%v does not follow %v", r, Releases()[max(i-1, 0)])
		}
		for _, s := range All() {
			if s.Required && slices.Contains(r.Fails, s.ID) {
				t.Errorf("%s is required, and fails on %s", s.ID, r.Version)
			}
		}
	}
}

// The window is of 90 days before the newest release.
func TestWindow(t *testing.T) {
	t.Parallel()
	list := Releases()
	first, err := time.Parse(time.DateOnly, list[0].Date)
	last, err2 := time.Parse(time.DateOnly, list[len(list)-1].Date)
	if err != nil || err2 != nil || last.Sub(first) > 90*24*time.Hour {
		t.Errorf("from %s to %s: %v, %v", first, last, err, err2)
	}
}

func TestTested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version string
		known   bool
		cost    bool // TurnCost holds
	}{{Oldest(), true, false}, {"2.1.283", true, false}, {"2.1.311", true, true}, {Newest(), true, true},
		{"2.1.331", false, false}, {"", false, false}} {
		r, known := Tested(test.version)
		v := r.Support()
		if known != test.known || known && (v[TurnCost] == Holds) != test.cost {
			t.Errorf("%q: known %t, turn cost %s", test.version, known, v[TurnCost])
		}
	}
}

func TestSupportSet(t *testing.T) {
	t.Parallel()
	var none SupportSet
	if none[Cap] != Unknown || len(none.Select(Unknown)) != len(All()) {
		t.Error("no verdicts decide something")
	}
	v := SupportSet{Cap: Fails, Denied: Holds}
	data, err := json.Marshal(v)
	if err != nil || string(data) != `{"cap":"fails","denied":"holds"}` {
		t.Fatalf("%s, %v", data, err)
	}
	var back SupportSet
	if err := json.Unmarshal(data, &back); err != nil || back[Cap] != Fails || back[Denied] != Holds {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"cap":"perhaps"}`), &back); err == nil {
		t.Error("a word that is no verdict is read")
	}
	if got := v.Select(Fails); len(got) != 1 || got[0].ID != Cap {
		t.Errorf("failing: %v", got)
	}
}
