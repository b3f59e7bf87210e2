package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// WebhookMessage is the body that a hook receives, version 1: later versions add fields and never change
// them.
type WebhookMessage struct {
	V     int       `json:"v"`
	Event string    `json:"event"` // "run_ended", "run_paused" (it can be continued), "breaker"
	Time  time.Time `json:"time"`  // RFC 3339, UTC
	Run   string    `json:"run"`
	Plan  string    `json:"plan"`

	// Status is as in the run_ended event; of a breaker "draining", or "running" if it stopped only a task.
	Status     event.RunStatus `json:"status"`
	ExitCode   event.ExitCode  `json:"exit_code"`
	Reason     string          `json:"reason,omitempty"`
	Breaker    event.Breaker   `json:"breaker,omitempty"`
	Limit      string          `json:"limit,omitempty"` // money, iterations, tokens, wall-clock
	ResumeAt   time.Time       `json:"resume_at,omitzero"`
	Resume     string          `json:"resume,omitempty"` // the command that continues
	Tasks      event.Counts    `json:"tasks"`
	CostUSD    float64         `json:"cost_usd"`
	Iterations int             `json:"iterations"`
}

// messageFor returns the message for an event; false if the event needs none.
func messageFor(e event.Event, s *scheduler.State) (WebhookMessage, bool) {
	m := WebhookMessage{V: 1, Time: e.Time, Run: s.Config.Run}
	if b := e.End(); b != nil {
		m.Event = "run_ended"
		if b.Status != event.RunComplete && b.Status != event.RunFailed {
			m.Event = "run_paused"
		}
		m.Status, m.ExitCode, m.Reason = b.Status, b.ExitCode, b.Reason
		m.ResumeAt, m.Resume = b.ResumeAt, b.Resume
		m.Tasks, m.CostUSD, m.Iterations = b.Tasks, b.CostUSD, b.Iterations
		if s.Stop != nil {
			m.Breaker, m.Limit = s.Stop.Breaker, s.Stop.Limit
		}
		return m, true
	}
	run, task := e.Stops()
	stop := cmp.Or(run, task)
	if stop == nil || stop.Breaker == "" {
		return m, false
	}
	if e.Ends().Kind == "" && slices.ContainsFunc(s.Tasks, func(t scheduler.Task) bool { return t.Stop != nil }) {
		return m, false // sent when the task was stopped
	}
	m.Event = "breaker"
	if m.Status = "draining"; run == nil { // else running attempts may finish, and nothing more starts
		m.Status = event.RunRunning
	}
	m.ExitCode = stop.ExitCode
	m.Reason = stop.Reason
	m.Breaker = stop.Breaker
	m.Tasks, m.CostUSD, m.Iterations = s.Counts, s.Ledger.Spent().Float(), s.Ledger.Iterations()
	return m, true
}

// Text returns the message for people: one paragraph, as Slack shows it.
func (m WebhookMessage) Text() string {
	name := cmp.Or(m.Plan, m.Run)
	var b strings.Builder
	switch {
	case m.Event == "breaker" && m.Status == event.RunRunning:
		fmt.Fprintf(&b, "wavex: %s: breaker %s stopped a task, the others go on", name, m.Breaker)
	case m.Event == "breaker":
		fmt.Fprintf(&b, "wavex: %s: breaker %s tripped, nothing more starts", name, m.Breaker)
	case m.Status == event.RunComplete:
		fmt.Fprintf(&b, "wavex: %s is complete", name)
	default:
		fmt.Fprintf(&b, "wavex: %s: %s (exit code %d)", name, m.Status, m.ExitCode)
	}
	c := m.Tasks
	all := c.Completed + c.Failed + c.Blocked + c.Pending
	fmt.Fprintf(&b, "\n%d of %d tasks completed, %d failed, %d blocked | $%.2f | %d iterations", c.Completed, all,
		c.Failed, c.Blocked, m.CostUSD, m.Iterations)
	if m.Reason != "" && m.Status != event.RunComplete {
		fmt.Fprintf(&b, "\n%s", textfmt.Line(m.Reason))
	}
	if m.Resume != "" {
		fmt.Fprintf(&b, "\nContinue with: %s", m.Resume)
		if !m.ResumeAt.IsZero() {
			fmt.Fprintf(&b, " (from %s)", m.ResumeAt.UTC().Format(time.RFC3339))
		}
	}
	return b.String()
}

// slackEscapes keeps Slack from reading mentions and links into the texts of plans and agents.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// body returns the JSON of a request, in the form of Slack or our own.
func (m WebhookMessage) body(slack bool) ([]byte, error) {
	if slack {
		return json.Marshal(map[string]string{"text": slackEscapes.Replace(m.Text())})
	}
	return json.Marshal(m)
}
