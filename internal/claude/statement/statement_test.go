package statement

import (
	"encoding/json"
	"strings"
	"testing"
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
		for i, v := range s.tested {
			if v == Unknown {
				t.Errorf("%s has no verdict on %s", s.ID, versions[i])
			}
			if s.Required && v != Holds {
				t.Errorf("%s is required, and %s on %s", s.ID, v, versions[i])
			}
		}
	}
}

func TestTested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version string
		known   bool
		cost    bool // TurnCost holds
	}{{Oldest(), true, false}, {Newest(), true, true}, {"2.1.331", false, false}, {"", false, false}} {
		v, known := Tested(test.version)
		if known != test.known || (v[TurnCost] == Holds) != test.cost {
			t.Errorf("%q: known %t, turn cost %s", test.version, known, v[TurnCost])
		}
		if known && len(v) != len(All()) {
			t.Errorf("%q has %d verdicts", test.version, len(v))
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
