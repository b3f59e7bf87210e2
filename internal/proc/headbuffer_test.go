package proc

import "testing"

func TestHeadBufferAcceptsAll(t *testing.T) {
	t.Parallel()
	w := &HeadBuffer{Max: 5}
	for _, s := range []string{"abc", "defg", "h", ""} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if w.String() != "abcde" {
		t.Errorf("kept %q", w.String())
	}
}
