package doctor

import "testing"

func TestPrices(t *testing.T) {
	t.Parallel()
	known := func(model string) bool { return model == "claude-opus-5-5" }
	is(t, Prices([]string{"", "claude-opus-5-5", "sonnet[1m]"}, known), OK, "every model")
	is(t, Prices([]string{"claude-opus-5-5", "new-1", "new-1", "new-2"}, known), Warn, "no list price for new-1, new-2:")
}
