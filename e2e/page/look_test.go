//go:build unix

package page

import (
	"testing"

	"wavex/internal/report/reporttest"
)

// The pages of the other stories, in both themes, wide and narrow: nothing on the
// console, and nothing wider than the screen. With WAVEX_E2E_SHOTS they are saved to
// be looked at.
func TestLooks(t *testing.T) {
	t.Parallel()
	b := launch(t)
	stories := map[string]*reporttest.Story{
		"mixed": reporttest.Mixed(t, nil), "complete": reporttest.Complete(t, nil), "paused": reporttest.Paused(t, nil),
		"hostile": reporttest.Hostile(t, nil), "1000": reporttest.Big(t, 1000), "60": reporttest.Big(t, 60),
	}
	for name, s := range stories {
		url := saved(t, s)
		for _, look := range []struct {
			scheme string
			width  int
		}{{"light", 1360}, {"dark", 1360}, {"dark", 400}} {
			label := name + "-" + look.scheme
			if look.width < 1000 {
				label += "-narrow"
			}
			p := b.tab(look.width, 2000, look.scheme)
			took := p.open(url)
			t.Logf("%s: opened in %v", label, took)
			if w := p.eval(`document.documentElement.scrollWidth`).Int(); w > int64(look.width) {
				t.Errorf("%s: the page is %d wide", label, w)
			}
			p.shot(label)
			p.eval(`document.querySelector("#rows .open").click()`)
			p.until(`document.querySelector("#panel-title")`)
			p.shot(label + "-panel")
			p.quiet(url)
			p.close()
		}
	}
}
