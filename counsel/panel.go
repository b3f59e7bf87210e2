// This file convenes a panel: it asks the chosen experts in parallel, each within its share of
// the cap, and passes their opinions to the tally. It decides nothing about the run, and starts
// no process itself.

package counsel

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"

	"wavex/budget"
	"wavex/runner"
)

// Panel asks experts about a case. The Caller is required; the other fields may be zero.
type Panel struct {
	Caller  Caller
	Experts *Roster       // nil means the embedded ones
	Chair   bool          // if the experts disagree, one more call weighs their opinions
	Timeout time.Duration // wall clock of one call; 0 means 5 minutes
	Model   string        // "" means the caller's own choice
	NoTools bool          // the caller runs no tools, as with the Messages API: reviewers and judges get none
	Tools   []string      // read-only tools that the experts may use; a call without tools costs least
}

const (
	defaultTimeout = 5 * time.Minute
	// stopGrace is the time that a caller gets beyond Timeout to end its call by itself, which
	// yields the cost. Then the call is cancelled.
	stopGrace = 30 * time.Second
)

const chairName = "chair"

//go:embed chair.md
var chairProfile string

var (
	errTimeout       = errors.New("no answer in time")
	errShareTooSmall = errors.New("the cap cannot be shared among the experts")
)

// Diagnose asks a panel why a task is stuck. It asks 2 experts, or 3 if the case is Thorough, in
// parallel, each with an equal share of the case's cap (with Chair, the chair's share is set
// aside too). It returns when all calls have ended. An expert whose call fails, times out, panics
// or answers nonsense is unavailable; its opinion holds the reason and the cost. If no expert
// answers, Verdict.Unavailable holds the reason.
func (p *Panel) Diagnose(ctx context.Context, c Case) Verdict {
	roster, err := p.roster()
	if err != nil {
		return Verdict{Unavailable: err.Error()}
	}
	experts := SelectExperts(roster, c)
	if len(experts) == 0 {
		return Verdict{Unavailable: "no experts are left: all are blocked"}
	}
	seats := len(experts)
	if p.Chair && seats > 1 {
		seats++
	}
	share, err := seatShare(c.Cap, seats)
	if err != nil {
		return Verdict{Unavailable: err.Error()}
	}

	prompt := caseBrief(c)
	questions := make([]runner.Question, len(experts))
	for i, e := range experts {
		questions[i] = p.question(c, e.Name, e.Body, prompt, share)
	}
	opinions := make([]Opinion, len(experts))
	for i, a := range p.askAll(ctx, questions) {
		opinions[i] = parseOpinion(experts[i].Name, a)
	}
	v := Tally(opinions)
	if p.Chair && v.Unavailable == "" && v.Agreement < 1 {
		v = p.askChair(ctx, c, v, share)
	}
	return v
}

func (p *Panel) roster() (*Roster, error) {
	if p.Experts != nil {
		return p.Experts, nil
	}
	return BuiltIn()
}

// seatShare returns one seat's share of the cap. A cap of 0 means no cap. A share that rounds to 0
// is an error, because it would mean no cap at all.
func seatShare(limit budget.USD, seats int) (budget.USD, error) {
	if limit == 0 {
		return 0, nil
	}
	share := limit / budget.USD(seats)
	if share <= 0 {
		return 0, fmt.Errorf("%w: %s for %d calls", errShareTooSmall, limit, seats)
	}
	return share, nil
}

func (p *Panel) question(c Case, name, profile, prompt string, share budget.USD) runner.Question {
	system := profile + "\n\n" + diagnoseFrame
	if len(p.Tools) == 0 {
		system += noTools
	}
	return runner.Question{Name: "counsel/" + name, Dir: c.Dir, LogDir: logDir(c.LogDir, name), System: system,
		Prompt: prompt, Schema: json.RawMessage(OpinionSchema), Tools: p.Tools, Cap: share, Rehearse: c.Rehearse}
}

// askAll puts the questions in parallel and waits for all answers. answers[i] belongs to qs[i].
func (p *Panel) askAll(ctx context.Context, qs []runner.Question) []runner.Answer {
	// Goroutines write by index, because the ResultPool of conc v0.3.0 returns results in the
	// order in which they end.
	answers := make([]runner.Answer, len(qs))
	panel := pool.New().WithMaxGoroutines(len(qs))
	for i, q := range qs {
		panel.Go(func() { answers[i] = p.askOne(ctx, q) })
	}
	panel.Wait()
	return answers
}

// askOne asks one question, with the panel's model and timeout. It recovers from a panic of the caller.
func (p *Panel) askOne(ctx context.Context, q runner.Question) (answer runner.Answer) {
	q.Model, q.Timeout = p.Model, cmp.Or(max(0, p.Timeout), defaultTimeout)
	if ctx.Err() != nil {
		return runner.Answer{Outcome: runner.Interrupted}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout+stopGrace, errTimeout)
	defer cancel()
	if caught := panics.Try(func() { answer = p.Caller.Ask(ctx, q) }); caught != nil {
		// The cost is unknown, so the cap counts, as for any call that died.
		return runner.Answer{Outcome: runner.Broken, Cost: q.Cap, Priced: "cap",
			Reason: "the call panicked: " + oneLine(fmt.Sprint(caught.Value), 200)}
	}
	if answer.Outcome == runner.Interrupted && context.Cause(ctx) == errTimeout {
		answer.Outcome, answer.Reason = runner.TimedOut, fmt.Sprintf("no answer within %s", q.Timeout)
	}
	return answer
}

// askChair has a chair weigh the opinions. If the chair is unavailable the tally stands.
func (p *Panel) askChair(ctx context.Context, c Case, v Verdict, share budget.USD) Verdict {
	var views []section
	for _, o := range v.Opinions {
		if o.Unavailable == "" {
			views = append(views, section{
				fmt.Sprintf("opinion of the %s: %s, confidence %.2f", o.Expert, o.Action, o.Confidence),
				fmt.Sprintf("%s\nCause: %s\nApproach: %s\nWrong if: %s", o.Diagnosis, o.Cause, o.Approach, o.Falsifier), 1300})
		}
	}
	q := p.question(c, chairName, chairProfile, caseBrief(c, views...), share)
	return v.withChair(parseOpinion(chairName, p.askOne(ctx, q)))
}

// withChair returns the verdict after a chair's opinion. Agreement becomes the share of the experts
// that agree with the chair; the others are the dissent. Tradeoff stays as the experts left it.
func (v Verdict) withChair(chair Opinion) Verdict {
	v.Cost += chair.Cost
	v.Chair = &chair
	if chair.Unavailable != "" {
		return v
	}
	v.Action, v.Confidence = chair.Action, chair.Confidence
	v.Dissent = nil
	answered, with := 0, 0
	for _, o := range v.Opinions {
		if o.Unavailable != "" {
			continue
		}
		answered++
		if o.Action == chair.Action && similar(o.Approach, chair.Approach) {
			with++
		} else {
			v.Dissent = append(v.Dissent, dissentLine(o))
		}
	}
	v.Agreement = float64(with) / float64(answered)
	// The chair has decided, so the agent must not choose again.
	v.Analysis, v.Fix = analysisText(chair, false), fixText(chair)
	return v
}
