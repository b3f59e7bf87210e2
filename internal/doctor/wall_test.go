package doctor

import (
	"errors"
	"testing"
)

func TestWall(t *testing.T) {
	t.Parallel()
	is(t, Wall(nil), OK, "sudo")
	is(t, Wall(errors.New("bubblewrap (bwrap) is not installed")), OK, "none: bubblewrap (bwrap) is not installed")
	is(t, StrictWall(nil), OK, "the network")
	is(t, StrictWall(errors.New("no rights")), Fail, "`sandbox: strict`: no rights")
}
