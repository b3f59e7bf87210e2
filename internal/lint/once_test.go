package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// once lists ideas that are written in one place, by the code that a second copy would need. Each file may have it for
// the reason beside it.
var once = []struct {
	idea, code string
	files      map[string]string
}{
	{"the reservation of money", `\.Reserve\(`, map[string]string{
		"scheduler/job.go":          "the work of a run",
		"internal/request/state.go": "the calls that make a plan, before there is a run",
	}},
	{"the keys of paid work", `"/?(precheck|criteria|review|%s/counsel)-%`, map[string]string{
		"scheduler/job.go":            "the keys",
		"internal/review/precheck.go": "the folder of the calls",
		"internal/review/review.go":   "the folder of the calls",
		"internal/review/criteria.go": "the folder of the calls",
	}},
	{"the ends of work that an earlier session left open", `lostResult\(|interruptedEarlier\b`, map[string]string{
		"scheduler/unfinished.go": "all of them",
	}},
	{"a panic of work in the background", `background\.Go\(`, map[string]string{
		"scheduler/workers.go":   "work that sends its end",
		"scheduler/latecosts.go": "a search that sends any number of events",
	}},
	{"the end of a run", `event\.RunEnded\{\w`, map[string]string{
		"scheduler/end.go":                      "all ends",
		"internal/report/reporttest/fakerun.go": "of a run in tests",
	}},
	{"the stop after an outcome", `NewStop\((event\.)?RunLimited`, map[string]string{
		"scheduler/afterattempt.go": "all outcomes",
		"scheduler/throttle.go":     "a usage limit, whose reset is known",
	}},
	{"the tasks that a failed one blocks", `\.Descendants\(`, map[string]string{
		"scheduler/afterattempt.go":    "they are blocked",
		"cmd/rollback.go":              "their work is undone",
		"internal/run/guardedfiles.go": "they never run beside it",
	}},
	{"the questions to experts", `Caller\.Ask\(`, map[string]string{
		"counsel/ask.go":            "all experts",
		"internal/request/call.go":  "the model that makes a plan",
		"internal/review/review.go": "it passes questions on",
	}},
	{"the digest of a file", `io\.Copy\(h\w*, f\)`, map[string]string{
		"internal/safefile/safefile.go": "of a file",
	}},
	{"the costs of attempts from their events", `case event\.AttemptEnded:\n(.*\n){0,5}?.*\.Cost\b`, map[string]string{
		"scheduler/apply.go": "it learns from runs of other plans, as apply does from the own one",
	}},
	// A channel called wake, or any that holds one signal, is part of a hand-written async.Worker.
	{"the wakeup of a goroutine", `\b\w*[wW]ake\w*\b.*\bchan struct\{\}|make\(chan struct\{\}, 1\)`, map[string]string{
		"internal/async/async.go":         "it is the Worker",
		"internal/claude/conversation.go": "one of several channels in the select of a turn, which no Worker could join",
	}},
	{"the end of a shortened text", `\+ "\.\.\."`, map[string]string{
		"internal/textfmt/cut.go":               "for all texts",
		"internal/plan/convert/importedplan.go": "of a title between words; plans do not import textfmt",
	}},
	{"the start of git", `(program = |\{)"git"`, map[string]string{
		"internal/gitwork/git.go":  "for all work",
		"internal/doctor/host.go":  "it looks for git as for the other programs, with their time limit",
		"internal/filetree/git.go": "it reads two listings; attempts do not import gitwork, which hands them out",
	}},
	{"the answer whether a person is there", `\.IsTerminal\(`, map[string]string{
		"cmd/terminal.go": "for all commands",
	}},
}

func TestOnce(t *testing.T) {
	t.Parallel()
	found := make([][]string, len(once))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "e2e" || name == "bench" || d.Name() == "testdata" || len(name) > 2 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for i, o := range once {
			if regexp.MustCompile(o.code).Match(text) {
				found[i] = append(found[i], name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range once {
		for _, name := range found[i] {
			if o.files[name] == "" {
				t.Errorf("%s has %s once more: use the code that is there, or give the reason in once_test.go", name, o.idea)
			}
		}
		for name := range o.files {
			if !slices.Contains(found[i], name) {
				t.Errorf("%s does not have %s any more: remove it from once_test.go", name, o.idea)
			}
		}
	}
}
