//go:build unix

package page

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// The page shows the log of a running attempt. A question about a tool call is answered there by keyboard, the call
// then runs, and a second answer is told that it is late. Drain ends the run after its running task.
func TestAskAndDrainOnThePage(t *testing.T) {
	t.Parallel()
	plan := `{"name": "asking", "isolation": "shared", "defaults": {"policy": {"ask": "touch"}}, "tasks": [
	  {"id": "T-001", "command": "until ls .loop/runs/*/questions/watchers; do sleep 0.05; done"},
	  {"id": "T-002", "subject": "Ask", "blockedBy": "T-001", "verify": ["test -e asked"],
	   "rehearse": {"duration": "0s", "runs": ["touch asked"]}},
	  {"id": "T-003", "command": "echo a line of three; echo > up; cat go; echo > three", "blockedBy": "T-002"},
	  {"id": "T-004", "command": "echo > four", "blockedBy": "T-003"}]}`
	dir, start := watchedRun(t, plan)
	run, said := start("run", "plan.json", "--agent", "rehearse", "--output", "json")
	if _, err := said.ReadString('\n'); err != nil { // the run is on record
		t.Fatal(err)
	}
	watch, out := start("watch", "--web")
	url, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("watch prints no address: %v", err)
	}
	url = strings.TrimSpace(url)
	b, script := launch(t), axe(t)
	p := b.tab(1280, 1000, "dark")
	p.open(url)
	const ask = `document.querySelector("#asked [data-choice=once]")`
	p.until(ask + ` && document.querySelector("#asked").innerText.includes("touch asked")`)
	for _, width := range []int{390, 1280, 2560} {
		for _, scheme := range []string{"light", "dark"} {
			p := b.tab(width, 1000, scheme)
			p.open(url)
			p.until(ask)
			p.mustBeAccessible(script, scheme, width)
			p.close() // a browser keeps only six connections to a server
		}
	}
	p.eval(ask + ".focus()")
	p.pressKey("Enter")
	p.until(`document.querySelector("#told").textContent === "q1 is answered: once"`)
	if got := post(t, url, "answer/q1/no"); got != "q1 had an answer already: once, by page" {
		t.Errorf("the second answer is told %q", got)
	}
	touch(t, filepath.Join(dir, "up"), os.O_RDONLY) // T-003 is at work
	if _, err := os.Stat(filepath.Join(dir, "asked")); err != nil {
		t.Errorf("the allowed call did not run: %v", err)
	}
	p.until(`document.querySelector("#doing").innerText.includes("a line of three")`)
	p.until(`!document.querySelector("#asked *")`)
	p.eval(`document.querySelector("#drain-button").focus()`)
	p.pressKey("Enter")
	p.until(`document.querySelector("#told").textContent.includes("asked to start nothing more")`)
	touch(t, filepath.Join(dir, "go"), os.O_WRONLY)
	p.until(`document.querySelector("#now").hidden && document.querySelector("#pulse").textContent === "ended"`)
	_, _ = said.WriteTo(&strings.Builder{})
	err = run.Wait()
	if _, three := os.Stat(filepath.Join(dir, "three")); err == nil || three != nil {
		t.Errorf("the drained run ends with %v; its running task: %v", err, three)
	}
	if _, err := os.Stat(filepath.Join(dir, "four")); err == nil {
		t.Error("a task started after the drain")
	}
	if err := errors.Join(watch.Process.Signal(os.Interrupt), watch.Wait()); err != nil {
		t.Errorf("watch ends with %v", err)
	}
	p.expectNoErrors(url)
}

// post sends a request as another page of the same address would.
func post(t *testing.T, url, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, nil)
	testrepo.Must(t, err)
	r.Header.Set("Origin", "http://"+r.URL.Host)
	resp, err := http.DefaultClient.Do(r)
	testrepo.Must(t, err)
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
