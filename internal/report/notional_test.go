package report_test

import (
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
)

// Every view marks money that is not billed.
func TestNotionalMoney(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "sub", reporttest.Tasks{{ID: "T-001", Subject: "Do it"}})
	r := reporttest.PassingResult(2 * budget.Dollar)
	r.Notional = true
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).Advance(time.Second).EndAttempt("T-001", r,
		event.Completed, nil)
	sum := report.Of(s.S, s.Events)
	if table := sum.Table(0, false); !strings.Contains(table, "Cost: $2.00/none (notional) |") {
		t.Error(table)
	}
	b, err := sum.JSON()
	if err != nil || !strings.Contains(string(b), `"notional": true`) ||
		!strings.Contains(string(b), `"budget_usd": null`) {
		t.Errorf("%s, %v", b, err)
	}
	if md := sum.Markdown(); !strings.Contains(md, "(notional)") {
		t.Error(md)
	}
}
