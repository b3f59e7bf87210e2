//go:build unix

package page

import (
	"context"
	"fmt"
	"testing"
	"time"

	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// stops notes the requests to end a run.
type stops chan bool

func (s stops) Stop(interrupt bool) string { s <- interrupt; return "asked" }

func (s stops) Answer(string, string) (string, bool) { return "", false }

func (s stops) Attend() (release func()) { return func() {} }

// Stop interrupts the running attempts, so the page asks first, in a dialog of which axe finds nothing. A key that is
// pressed too often does not stop the run: the focus is on the other button.
func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "going", reporttest.Tasks{{ID: "T-001", Subject: "First"}, {ID: "T-002", Subject: "Second"}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
	srv, l, err := page.Listen(t.Context(), 0, nil)
	testrepo.Must(t, err)
	asked := make(stops, 10)
	srv.Control = asked
	publish := func() {
		t.Helper()
		run := page.Of(s.S, s.Events, s.Now(), s.S.Ended == nil)
		testrepo.Must(t, srv.Publish(page.Snapshot{Run: run, Details: page.DetailsOf(s.S, s.Events, nil)}))
	}
	publish()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("ending: %v", err)
		}
	}()
	b, script := launch(t), axe(t)
	const isOpen, focused = `document.querySelector("#stop").open`, `document.activeElement.innerText`
	for _, width := range []int{390, 1280, 2560} {
		for _, scheme := range []string{"light", "dark"} {
			p := b.tab(width, 1000, scheme)
			p.open(srv.URL())
			p.until(`document.querySelector("#pulse").textContent === "live"`)
			p.eval(`document.querySelector("#stop-button").focus()`)
			p.pressKey("Enter")
			p.until(isOpen + ` && document.querySelector("#stop").innerText.includes("2 running attempts")`)
			p.mustBeAccessible(script, fmt.Sprint("asked, ", scheme), width)
			p.screenshot(fmt.Sprint("stop-", width, "-", scheme))
			if got := p.eval(focused).Text(); got != "Keep running" {
				t.Errorf("the focus is on %q", got)
			}
			p.pressKey("j") // a key of the page
			p.pressKey("Escape")
			p.until(`!` + isOpen + ` && document.activeElement.id === "stop-button"`)
			p.pressKey("Enter")
			p.pressKey("Enter")
			p.until(`!` + isOpen)
			if width < 2560 || scheme == "light" {
				p.close()
				continue
			}
			if len(asked) > 0 {
				t.Errorf("%d requests came unconfirmed", len(asked))
			}
			p.pressKey("Enter")
			p.pressKey("Tab")
			if got := p.eval(focused).Text(); got != "Stop the run" {
				t.Errorf("Tab leads to %q", got)
			}
			p.pressKey("Enter")
			p.until(`!` + isOpen + ` && document.querySelector("#told").textContent === "asked"`)
			if !<-asked {
				t.Error("the run was drained")
			}
			p.pressKey("Enter")
			p.until(isOpen)
			s.Advance(time.Second).EndRun("complete", 0, "", "")
			publish()
			p.until(`!` + isOpen + ` && document.querySelector("#now").hidden`)
			p.expectNoErrors(srv.URL())
		}
	}
}
