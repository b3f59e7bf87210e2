//go:build unix

package page

import (
	"testing"

	"wavex/internal/report/reporttest"
)

// The pages of the other stories, in both themes, wide and narrow: no console messages, and no
// element wider than the screen. With WAVEX_E2E_SHOTS screenshots are saved.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	b := launch(t)
	for _, look := range []struct {
		name   string
		story  *reporttest.FakeRun
		scheme string
		width  int
	}{
		{"mixed", reporttest.MixedRun(t, nil), "dark", 1360}, {"mixed-narrow", reporttest.MixedRun(t, nil), "light", 400},
		{"refused", reporttest.RefusedRun(t, nil), "light", 1360}, {"complete", reporttest.CompleteRun(t, nil),
			"light", 1360},
		{"paused-narrow", reporttest.PausedRun(t, nil), "dark", 400},
		{"hostile", reporttest.HostileRun(t, nil), "light", 800}, {"60", reporttest.BigRun(t, 60), "dark", 1360},
		{"1000", reporttest.BigRun(t, 1000), "light", 1360},
	} {
		url := savePage(t, look.story)
		p := b.tab(look.width, 2000, look.scheme)
		took := p.open(url)
		t.Logf("%s: opened in %v", look.name, took)
		if w := p.eval(`document.documentElement.scrollWidth`).Int(); w > int64(look.width) {
			t.Errorf("%s: the page is %d wide", look.name, w)
		}
		p.screenshot(look.name)
		p.eval(`document.querySelector("#rows .open").click()`)
		p.until(`document.querySelector("#panel-title")`)
		p.screenshot(look.name + "-panel")
		p.expectNoErrors(url)
		p.close()
	}
}
