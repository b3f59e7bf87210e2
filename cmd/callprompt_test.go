package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/question"
	"wavex/internal/ui"
	"wavex/runner"
)

// While one question of a run has the terminal, the others wait, and each ends with its own time.
func TestQuestionsEndWhileTheyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrompter(Stdio{In: strings.NewReader("")})
		p.turn.TryAcquire(1)
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, late)
		defer cancel()
		if c, err := askCall(p, nil)(ctx, question.Question{}); c != "" || err != late {
			t.Errorf("a call: %q, %v", c, err)
		}
		if yes, err := (gatePrompter{p}).Confirm(ctx, "?"); yes || err != late {
			t.Errorf("a gate: %v, %v", yes, err)
		}
	})
}

// onAsked is a view that calls asked when a question is shown.
type onAsked struct {
	ui.View
	asked func()
}

func (v onAsked) Observe(o runner.Observation) {
	if o.Kind == "asked" {
		v.asked()
	}
}

// The terminal says which answer came from elsewhere.
func TestAnsweredElsewhereIsTold(t *testing.T) {
	t.Parallel()
	in, end := io.Pipe()
	var out bytes.Buffer
	p := newPrompter(Stdio{In: in, Err: &out})
	ctx, cancel := context.WithCancelCause(t.Context())
	answer := &question.AnsweredError{Answer: question.Answer{Choice: question.Once, By: "page"}}
	view := onAsked{asked: func() { cancel(answer) }}
	if c, err := askCall(p, view)(ctx, question.Question{}); c != "" || err != answer {
		t.Errorf("%q, %v", c, err)
	}
	if got := out.String(); got != "\nthe answer is once, by page\n" {
		t.Errorf("the terminal shows %q", got)
	}
	if err := end.Close(); err != nil { // the read of the terminal ends
		t.Error(err)
	}
}

// A pattern that is allowed for good is added to the settings file, and the rest of it stays as it is.
func TestAddAllowed(t *testing.T) {
	t.Parallel()
	known := settingFlags(nil)
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
		// wavex cannot add to these, and nothing else would be valid.
		{"policy-allow: [curl]\n", ""}, {"policy: # so\n  allow: [curl]\n", ""}, {"\ufeffpolicy:\n  allow: [curl]\n", ""},
		{"{plain: true}\n", ""}, {"plain: true\n...\n", ""}, {"plain: true\n---\n", ""},
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
		err := addAllowed(path, "git push", known)
		want := c.after
		if want == "" {
			want = c.before
		}
		if got, _ := os.ReadFile(path); string(got) != want || (err != nil) != (c.after == "") {
			t.Errorf("%q becomes %q, want %q; %v", c.before, got, want, err)
		}
	}
}

// A settings file that is a link, as to a directory of dotfiles, stays one, and the file keeps its permissions.
func TestAddAllowedToALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "dotfile"), filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("plain: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if err := addAllowed(link, "git push", settingFlags(nil)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	info, serr := os.Stat(file)
	if err != nil || serr != nil || !strings.Contains(string(text), "'git push'") || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v; %v, %v", text, err, info, serr)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link goes to %q, %v", to, err)
	}
}
