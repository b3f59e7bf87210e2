//go:build unix

package page

import (
	"context"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// The page of a running run shows news without a reload, keeps open elements open, fetches
// details from the server, and shows the end of the run.
func TestLivePage(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "live", reporttest.Tasks{{ID: "T-001", Subject: "First"}, {ID: "T-002", Subject: "Second",
		Blockers: []int{0}}})
	srv, l, err := page.Listen(t.Context(), 0, nil)
	testrepo.Must(t, err)
	show := func() {
		t.Helper()
		run := page.Of(s.S, s.Events, s.Now(), s.S.Ended == nil)
		for i := range run.Tasks {
			if d := run.Tasks[i].Now; d != nil {
				d.Update("Bash go test ./...", s.Now().Add(-3*time.Second), "")
			}
		}
		testrepo.Must(t, srv.Publish(page.Snapshot{Run: run, Details: page.DetailsOf(s.S, s.Events, nil)}))
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, l) }()
	ended := false
	defer func() {
		if cancel(); !ended {
			<-served
		}
	}()
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).Advance(12 * time.Second)
	show()

	p := launch(t).tab(1360, 1000, "dark")
	p.open(srv.URL())
	p.until(`document.querySelector("#pulse").textContent === "live"`)
	if rows := p.text("#rows"); !strings.Contains(rows, "Bash go test ./..., 3s ago") {
		t.Errorf("the table shows %q", rows)
	}
	p.pressKey("/")
	p.write("first")
	p.pressKey("Enter")
	p.until(`document.querySelector("#panel-title") && document.querySelector("#panel").innerText.includes("Attempt 1")`)
	p.screenshot("live-dark")

	s.EndAttempt("T-001", reporttest.FailingResult(50_000), event.Advising,
		nil).Apply(event.CounselStarted{Task: "T-001",
		Attempt: 1, Panel: 1}).Advance(4 * time.Second)
	show()
	p.until(`document.querySelector("#rows").innerText.includes("counsel 1, since 4s")`)
	s.Apply(event.CounselEnded{Task: "T-001", Panel: 1, Verdict: reporttest.Advice()}).StartAttempt("T-001",
		0).Advance(time.Second)
	show()
	p.until(`document.querySelector("#panel").innerText.includes("Attempt 2")`)
	if got := p.eval(`document.querySelector("#search").value`).Text(); got != "first" {
		t.Errorf("the search now holds %q", got)
	}
	s.EndAttempt("T-001", reporttest.PassingResult(20_000), event.Completed, nil).StartWave(2).StartAttempt("T-002",
		0).Advance(time.Second).
		EndAttempt("T-002", reporttest.PassingResult(30_000), event.Completed, nil).EndRun("complete", 0, "", "")
	show()
	p.until(`document.querySelector("h1").innerText.includes("Complete") && document.querySelector("#pulse").textContent === "ended"`)
	if got := p.text(".tiles"); !strings.Contains(got, "$0.14") || !strings.Contains(got, "2/2") {
		t.Errorf("the tiles show %q", got)
	}
	cancel()
	p.until(`document.querySelector("#pulse").textContent === "the server has ended"`)
	ended = true
	if err := <-served; err != nil {
		t.Errorf("ending: %v", err)
	}
	p.expectNoErrors(srv.URL())
}
