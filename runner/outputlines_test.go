package runner

import "testing"

// A JSON array is a list as it is; other text is the list of its lines.
func TestListOfLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\n\n b \"\n": `["a"," b \""]`, "": `[]`, "null": `["null"]`, `[1, "a"]`: `[1, "a"]`, "[1\n2]": `["[1","2]"]`,
	} {
		if got := string(listOfLines([]byte(text))); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
