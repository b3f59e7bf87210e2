package session

import (
	"testing"

	"wavex/internal/roomtest"
)

func TestMain(m *testing.M) { roomtest.Main(m) }
