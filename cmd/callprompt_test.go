package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// A pattern that is allowed for good is added to the settings file, and the rest of it stays as it is.
func TestAddAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{"", "policy:\n  allow: ['git push']\n"},
		{"# mine\nplain: true", "# mine\nplain: true\npolicy:\n  allow: ['git push']\n"},
		{"policy: { edits: files } # so\n", "policy: { allow: ['git push'], edits: files } # so\n"},
		{"policy: {}\n", "policy: { allow: ['git push']}\n"},
		{"policy:\n  # no\n  deny: [curl]\nplain: true\n",
			"policy:\n  # no\n  allow: ['git push']\n  deny: [curl]\nplain: true\n"},
		{"policy:\n  allow: [curl, wget]\n", "policy:\n  allow: ['git push', curl, wget]\n"},
		{"policy: {allow: []}\n", "policy: {allow: ['git push']}\n"},
		{"policy:\n  allow:\n    - curl # so\n", "policy:\n  allow:\n    - 'git push'\n    - curl # so\n"},
		{"policy: 3\n", ""}, {"policy: {allow: 3}\n", ""}, {"policy: [\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "wavex", "config.yaml")
		if c.before != "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := addAllowed(path, "git push")
		want := c.after
		if want == "" {
			want = c.before
		}
		if got, _ := os.ReadFile(path); string(got) != want || (err != nil) != (c.after == "") {
			t.Errorf("%q becomes %q, want %q; %v", c.before, got, want, err)
		}
	}
}
