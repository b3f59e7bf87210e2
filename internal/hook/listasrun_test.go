package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readFakeList creates a task list of the user.
func readFakeList(t *testing.T, files map[string]string) func(string) string {
	t.Helper()
	config := t.TempDir()
	dir := filepath.Join(config, "tasks", "shop")
	must(t, os.MkdirAll(dir, 0o755))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": config}[name] }
}

func item(id, status, more string) string {
	return fmt.Sprintf(`{"id":%q,"subject":"Do %s","description":"What %s is.","status":%q,"blocks":[],"blockedBy":[]%s}`,
		id, id, id, status, more)
}

func TestReadList(t *testing.T) {
	t.Parallel()
	in := Input{Event: "Stop", Session: "s1", Dir: "/p"}
	never := func() (int, bool) { return 0, true }
	for name, c := range map[string]struct {
		files  map[string]string
		reason string // parts, separated by bars; "": let go
		why    string
	}{
		"the one under way": {map[string]string{".lock": "", "1.json": item("1", "completed", ""),
			"2.json": item("2", "pending", ""), "3.json": item("3", "in_progress", "")},
			"**Pipeline**: shop|[1/3] completed|**Open**: pending tasks: Do 3, Do 2|#3 Do 3|What 3 is.|TaskUpdate -> completed",
			"[1/3] completed, pending tasks: Do 3, Do 2"},
		"one that can start": {map[string]string{"1.json": strings.Replace(item("1", "pending", ""), `"blockedBy":[]`,
			`"blockedBy":["2"]`, 1), "2.json": strings.Replace(item("2", "pending", ""), `"blockedBy":[]`,
			`"blockedBy":["9"]`, 1)},
			"#2 Do 2", "Do 2, Do 1"},
		"many": {map[string]string{"1.json": item("1", "pending", ""), "2.json": item("2", "pending", ""),
			"3.json": item("3", "pending", ""), "4.json": item("4", "pending", ""), "5.json": item("5", "pending", "")},
			"Do 1, Do 2, Do 3 and 2 more", "and 2 more"},
		"all done":     {map[string]string{"1.json": item("1", "completed", "")}, "", "every task of list shop is completed"},
		"empty":        {map[string]string{".lock": ""}, "", "every task"},
		"a run's own":  {map[string]string{"1.json": item("1", "pending", `,"metadata":{"loopId":"r-1"}`)}, "", "every task"},
		"no such task": {map[string]string{"1.json": "[]", "x y.json": item("7", "pending", "")}, "", "every task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := ReadList(t.Context(), in, "shop", readFakeList(t, c.files))
			must(t, err)
			v := DecideStop(in, r, 3, never)
			if v.Block != (c.reason != "") || !strings.Contains(v.LogReason, c.why) || v.Unrelated {
				t.Errorf("held %t because %q", v.Block, v.LogReason)
			}
			if c.reason != "" && !inOrder(v.Reason, c.reason) {
				t.Errorf("lacks a part of %q:\n%s", c.reason, v.Reason)
			}
		})
	}
	if r, err := ReadList(t.Context(), in, "no such list", readFakeList(t, nil)); err == nil {
		t.Errorf("read %+v", r)
	}
	many := map[string]string{}
	for i := range maxFiles + 1 {
		many[fmt.Sprint(i, ".json")] = "{}"
	}
	if _, err := ReadList(t.Context(), in, "shop", readFakeList(t, many)); err == nil {
		t.Error("read a list without end")
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadList(late, in, "shop", readFakeList(t, map[string]string{"1.json": "{"})); err == nil {
		t.Error("took half a file for all of the list")
	}
}
