package usererr

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/plan"
)

// Each error is found by errors.As at any depth and keeps its text, and a blocked call keeps its
// cause.
func TestErrors(t *testing.T) {
	t.Parallel()
	var usage *UsageError
	var blocked *BlockedError
	var wrong *PlanError
	for name, c := range map[string]struct {
		err                   error
		usage, blocked, wrong bool
		says                  string
	}{
		"usage":   {Usage("%d of %s", 3, "100 %"), true, false, false, "3 of 100 %"},
		"blocked": {Blocked(fs.ErrPermission), false, true, false, "permission denied"},
		"a plan": {Plan([]plan.Diagnostic{{Severity: plan.SeverityError, Message: "no"}}), false, false, true,
			"the plan has 1 mistake; nothing was started"},
	} {
		err := fmt.Errorf("deep: %w", errors.Join(errors.New("x"), c.err))
		if errors.As(err, &usage) != c.usage || errors.As(err, &blocked) != c.blocked || errors.As(err, &wrong) != c.wrong ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.Is(Blocked(fs.ErrPermission), fs.ErrPermission) {
		t.Error("what is in the way is hidden")
	}
}

// A PlanError prints all diagnostics, one per line, and counts the mistakes without the warnings.
func TestPlan(t *testing.T) {
	t.Parallel()
	mistake, warning := plan.Diagnostic{Severity: plan.SeverityError, File: "p", Line: 1, Message: "no"},
		plan.Diagnostic{Severity: plan.SeverityWarning, File: "p", Line: 2, Message: "hm"}
	for want, diags := range map[string][]plan.Diagnostic{
		"2 mistakes": {mistake, warning, mistake}, "1 mistake;": {warning, mistake}, "0 mistakes": {warning},
	} {
		text := Plan(diags).Error()
		if !strings.Contains(text, want) || strings.Count(text, "\n") != len(diags) || strings.HasSuffix(text, "\n") {
			t.Errorf("%q, want %q", text, want)
		}
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
