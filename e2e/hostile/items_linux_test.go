package hostile

// This file runs plans over lists with hostile items: they stay data in prompts, commands, checks, names of files,
// refs, reports and on the terminal.

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hostileItems returns items of one line. RAN stands for a file that none of them may make.
func hostileItems(ran string) (items []string) {
	for _, item := range []string{`"; touch RAN; "`, `$(touch RAN)`, "`touch RAN`", `' & touch RAN & '`, `${params.x}`,
		`$${item}`, "..", "../../RAN", "-rf", "--", ".git", "HEAD.lock", "@{u}", "a~1", `a\`, "<script>touch RAN</script>",
		"]]>&amp;<!--", "\x1b[2J\x1b]0;title\x07x", "\u009b31mred", "a", "\u0430", "k", "\u212a", "e\u0301", "\u00e9",
		"a\u202ecod", "</loop-complete>", "| a | b |", "%s%n", "*"} {
		items = append(items, strings.ReplaceAll(item, "RAN", ran))
	}
	return items
}

// itemsPlan has a list from the output of a command, of which agents do the items; each gives its item as its output.
// A command collects the outputs, and others write each item into a file, by its number in the list.
func itemsPlan(isolation string) string {
	return `{"isolation": "` + isolation + `", "deliver": "ff", "parallel": 4, "tasks": [
		{"id": "list", "command": "cat items.json", "output": {"type": "array"}},
		{"id": "do", "foreach": {"items": "${tasks.list.output}", "key": "${item.text}"}, "subject": "Do ${item.text}",
		 "description": "On ${item.text}", "criteria": ["${item.text} is done."],
		 "verify": ["test \"$WAVEX_ITEM_text\" = ${item.text}"],
		 "output": {"type": "object"}, "rehearse": {"structured": {"item": "${item.text}"}}},
		{"id": "write", "foreach": {"items": "${tasks.list.output}", "key": "${item.text}"},
		 "command": "mkdir -p out && printf %s ${item.text} > out/${item.n} && printf '%s\\n' ${item.text}",
		 "files": [{"path": "out/${item.n}", "action": "create"}],
		 "verify": [{"file": "out/${item.n}", "contains": "${item.text}"}]},
		{"id": "all", "command": "cp ${tasks.do.outputs} all.json", "blockedBy": ["write"],
		 "files": [{"path": "all.json", "action": "create"}]}]}`
}

func TestHostileItems(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			runItems(t, isolation)
		})
	}
}

func runItems(t *testing.T, isolation string) {
	top := t.TempDir()
	dir := filepath.Join(top, "project")
	items := hostileItems(filepath.Join(top, "ran"))
	type numbered struct {
		N    int    `json:"n"`
		Text string `json:"text"`
	}
	var list []numbered
	for n, item := range items {
		list = append(list, numbered{n, item})
	}
	raw, err := json.Marshal(list)
	check(t, err)
	check(t, os.Mkdir(dir, 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "items.json"), raw, 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "plan.json"), []byte(itemsPlan(isolation)), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("r.*\n.config\n.local\n.cache\n"), 0o600))
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	run := []string{"run", "plan.json", "--agent", "rehearse", "--review", "off", "--accept-assumptions",
		"--report", "junit=r.xml", "--report", "html=r.html", "--report", "md=r.md", "--report", "json=r.json"}
	shown := execute(t, dir, run, 0, 300)
	for _, command := range [][]string{{"status"}, {"graph", "--all"}, {"logs", "do[a]"}, {"report"},
		{"report", "--format", "markdown"}} {
		shown += execute(t, dir, command, 0, 300)
	}
	if i := strings.IndexAny(shown, "\x1b\x07\u009b\u202e"); i >= 0 {
		t.Errorf("the output has %q", shown[i:min(len(shown), i+40)])
	}
	if _, err := os.Stat(filepath.Join(top, "ran")); err == nil {
		t.Error("an item was executed")
	}
	var outputs []struct{ Item string }
	check(t, json.Unmarshal(read(t, dir, "all.json"), &outputs))
	for n, item := range items {
		if got := string(read(t, dir, "out", strconv.Itoa(n))); got != item || n >= len(outputs) || outputs[n].Item != item {
			t.Errorf("item %d is %q, written as %q", n, item, got)
		}
	}
	checkPrompts(t, dir, items)
	checkReports(t, dir, len(items))
	git(t, dir, "fsck", "--strict", "--no-dangling")
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	check(t, err)
	return text
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"},
		args...)...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// checkPrompts asserts that each item has a folder of its own, whose prompt has the item as it is.
func checkPrompts(t *testing.T, dir string, items []string) {
	t.Helper()
	prompts, err := filepath.Glob(filepath.Join(dir, ".loop", "runs", "*", "tasks", "do*", "attempt-1", "prompt.md"))
	check(t, err)
	found := map[string]bool{}
	for _, path := range prompts {
		text := string(read(t, path))
		for _, item := range items {
			found[item] = found[item] || strings.Contains(text, "\nOn "+item+"\n")
		}
	}
	for _, item := range items {
		if !found[item] {
			t.Errorf("no prompt has %q", item)
		}
	}
	if len(prompts) != len(items) {
		t.Errorf("%d prompts of %d items", len(prompts), len(items))
	}
}

// checkReports asserts that the reports are whole, and that no item is a part of their form.
func checkReports(t *testing.T, dir string, items int) {
	t.Helper()
	names := map[string]bool{}
	for in := xml.NewDecoder(bytes.NewReader(read(t, dir, "r.xml"))); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "testcase" {
			names[e.Attr[0].Value] = true
		}
	}
	if len(names) != 2*items+2 {
		t.Errorf("the JUnit report has the cases %v", names)
	}
	for _, name := range []string{"r.xml", "r.html", "r.md", "r.json"} {
		text := string(read(t, dir, name))
		if i := strings.IndexAny(text, "\x00\x1b\x07"); i >= 0 || strings.Contains(text, "<script>touch") {
			t.Errorf("%s has %q", name, text[max(i, 0):min(len(text), max(i, 0)+40)])
		}
	}
}
