package tasklist

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewTasks(t *testing.T) {
	t.Parallel()
	l := &List{Name: "g", Dir: t.TempDir()}
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for id, text := range map[string]string{
		"1": `{"id":"1","subject":"known","description":"","status":"pending","blocks":[],"blockedBy":[]}`,
		"2": `{"id":"2","subject":"behind 5","description":"Verify: true","status":"pending","blocks":[],"blockedBy":["5","1","3"]}`,
		"3": `{"id":"3","subject":"done before","description":"","status":"completed","blocks":["2"],"blockedBy":[]}`,
		"4": `{"id":"4","subject":"somebody is at it","description":"","status":"in_progress","blocks":[],"blockedBy":[]}`,
		"5": `{"id":"5","subject":"new","description":"","status":"pending","blocks":["2"],"blockedBy":[]}`,
		"6": `{"id":"6","subject":"mends","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{"loopId":"r","remediation":"R-001"}}`,
		"7": `{"id":"7","subject":"behind 4","description":"","status":"pending","blocks":[],"blockedBy":["4"]}`,
		"8": `{"id":"8","subject":"just made","description":"","status":"pending","blocks":[],"blockedBy":[]}`,
		"9": `{"id":"9","subj`,
	} {
		path := filepath.Join(l.Dir, id+".json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := old
		if id == "8" || id == "9" {
			at = old.Add(time.Hour)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.NewTasks(t.Context(), "r", func(id string) bool { return id == "1" }, old.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, n := range got {
		if n.Wrong != nil {
			t.Errorf("%s cannot join: %v", n.ID, n.Wrong)
			continue
		}
		var task struct {
			ID        string   `json:"id"`
			BlockedBy []string `json:"blockedBy"`
		}
		if err := json.Unmarshal(n.Task, &task); err != nil {
			t.Fatalf("%s: %v", n.Task, err)
		}
		ids = append(ids, task.ID)
		if task.ID == "2" && !slices.Equal(task.BlockedBy, []string{"5", "1"}) {
			t.Errorf("2 is blocked by %q", task.BlockedBy)
		}
	}
	if want := []string{"5", "2"}; !slices.Equal(ids, want) {
		t.Errorf("%q joined, want %q", ids, want)
	}
}

// A new task that cannot join has a reason. One that may join later is omitted.
func TestNewTasksThatCannotJoin(t *testing.T) {
	t.Parallel()
	l := &List{Name: "g", Dir: t.TempDir()}
	task := func(id, blockedBy, more string) string {
		return `{"id":"` + id + `","subject":"S","description":"","status":"pending","blocks":[],"blockedBy":[` + blockedBy +
			`]` + more + `}`
	}
	for id, text := range map[string]string{
		"2":  task("2", `"1","99"`, ""),
		"3":  task("3", `"2","10"`, ""),
		"4":  task("4", `"4"`, ""),
		"5":  task("5", `"6"`, ""),
		"6":  task("6", `"5"`, ""),
		"7":  task("7", "", `,"metadata":{"wavex":[]}`),
		"8":  `{"id":"8"`,
		"9":  task("9", `"10"`, ""),
		"10": `{"id":"10","subject":"begun","description":"","status":"in_progress","blocks":[],"blockedBy":[]}`,
		"11": task("11", `"5"`, ""),
	} {
		if err := os.WriteFile(filepath.Join(l.Dir, id+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.NewTasks(t.Context(), "r", func(id string) bool { return id == "1" }, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range got {
		line := n.ID + ": " + string(n.Task)
		if n.Wrong != nil {
			line += n.Wrong.Error()
		}
		lines = append(lines, line)
	}
	want := []string{
		`2: it waits for task "99", which the list does not have`,
		`3: it waits for task "2", which cannot join either`,
		`4: it waits for itself, or for tasks that wait for themselves`,
		`5: it waits for itself, or for tasks that wait for themselves`,
		`6: it waits for itself, or for tasks that wait for themselves`,
		`7: metadata.wavex must be an object with fields of a plan's task`,
		`8: the file ends in the middle of the task`,
		`11: it waits for itself, or for tasks that wait for themselves`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
