package tasklist

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
		if id == "8" {
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
	for _, raw := range got {
		var task struct {
			ID        string   `json:"id"`
			BlockedBy []string `json:"blockedBy"`
		}
		if err := json.Unmarshal(raw, &task); err != nil {
			t.Fatalf("%s: %v", raw, err)
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
