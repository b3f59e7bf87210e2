package worker

import (
	"errors"
	"strings"
	"testing"

	"wavex/runner"
)

// The secrets of a worker are in no text that it tells, be it of an agent about its turn or of git.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	clean := func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	a := &attempt{Worker: New(Options{Name: "w1", Warn: func(error) {}, Redact: func(res runner.Result) runner.Result {
		res.Reason, res.Report = clean(res.Reason), clean(res.Report)
		return res
	}})}
	turn := a.redactTurn(runner.Turn{Result: runner.Result{Report: "hunter2"}, Unfinished: "no access with hunter2"})
	if turn.Result.Report != "***" || turn.Unfinished != "no access with ***" || turn.Result.Worker != "w1" {
		t.Errorf("%+v", turn)
	}
	git := errors.New("git fetch: https://hunter2@host is not there")
	kept := runner.Result{Outcome: runner.Done, Commit: "c"}
	a.keep(place{repo: &repo{dir: t.TempDir()}}, &kept, git)
	for _, res := range []runner.Result{a.broken(git), kept} {
		if !strings.Contains(res.Reason, "https://***@host") || strings.Contains(res.Signature, "hunter2") {
			t.Errorf("%+v", res)
		}
	}
}
