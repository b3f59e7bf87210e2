package usererr

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Each error is found by errors.As at any depth and keeps its text, and a blocked call keeps its
// cause.
func TestErrors(t *testing.T) {
	t.Parallel()
	var usage *UsageError
	var blocked *BlockedError
	for name, c := range map[string]struct {
		err            error
		usage, blocked bool
		says           string
	}{
		"usage":   {Usage("%d of %s", 3, "100 %"), true, false, "3 of 100 %"},
		"blocked": {Blocked(fs.ErrPermission), false, true, "permission denied"},
	} {
		err := fmt.Errorf("deep: %w", errors.Join(errors.New("x"), c.err))
		if errors.As(err, &usage) != c.usage || errors.As(err, &blocked) != c.blocked ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.Is(Blocked(fs.ErrPermission), fs.ErrPermission) {
		t.Error("what is in the way is hidden")
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	for err, blocked := range map[error]bool{
		errors.New("bad"): false,
		&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}:               false,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}:               true,
		fmt.Errorf("reading x: %w", os.NewSyscallError("open", syscall.ENFILE)): true,
	} {
		var b *BlockedError
		got := Input(err)
		if errors.As(got, &b) != blocked || got.Error() != err.Error() {
			t.Errorf("%v: %T %v", err, got, got)
		}
	}
}
