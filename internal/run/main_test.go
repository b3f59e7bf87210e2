package run

import (
	"testing"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { testrepo.Main(m) }
