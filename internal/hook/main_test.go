package hook

import (
	"testing"

	"go.uber.org/goleak"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	testrepo.Must(t, err)
}
