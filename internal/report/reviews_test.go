package report_test

import (
	"strings"
	"testing"

	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// TestReviewsInReports looks for the findings of a run's reviews in each form of a report.
func TestReviewsInReports(t *testing.T) {
	t.Parallel()
	r := report.Of(reporttest.ReviewedRun(t, nil).S, nil)
	data, err := r.JSON()
	testrepo.Must(t, err)
	for form, c := range map[string]struct{ text, want string }{
		"text": {r.Table(0, false),
			"thorough review, round 1: score 5.0/10 | 3 findings | 1 blocker\nBLOCKER, confirmed: it.go:7: "},
		"Markdown": {r.Markdown(), "BLOCKER, confirmed: it.go:7: the last line is lost"},
		"JSON":     {string(data), `"text": "the last line is lost"`},
		"its gate": {string(data), `"review": "thorough"`},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s lacks %q:\n%s", form, c.want, c.text)
		}
	}
}
