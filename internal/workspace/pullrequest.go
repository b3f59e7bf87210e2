package workspace

import (
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/safefile"
	"wavex/scheduler"
)

// This file writes the text of the pull request of a run.

// writePullRequestBody writes the report of a run as the body of its pull request. It reads the journal,
// because the loop owns the state. For a run that has not ended, complete says that all its tasks
// are completed and it was not refused.
func writePullRequestBody(p *plan.Plan, c event.Config, events []event.Event, complete bool) error {
	s := scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return err
	}
	sum := report.Of(s, events)
	if sum.Status == event.RunRunning { // only this delivery is missing
		sum.Status = "incomplete"
		if complete {
			sum.Status = event.RunComplete
		}
	}
	path := gitworkOptions(p, c).BodyFile
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return maybe.WriteFile(path, []byte(redactSecrets(sum.Markdown())), 0o644)
}
