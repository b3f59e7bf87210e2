package request

// This file asks the user questions in rounds until a request is clear enough.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// maxRounds is the maximum number of times that a person is asked to clarify a request.
const maxRounds = 5

// intent scores the request, asks a person to clarify it if there is one, and decides. The result
// is recorded and never computed again.
func (m *Machine) intent(ctx context.Context) (Intent, error) {
	recall, err := m.recall(ctx)
	if err != nil {
		return Intent{}, err
	}
	return stageResult(m, "intent", func() (Intent, error) {
		in := Intent{Request: m.state.opened.Request, Familiarity: recall.Familiarity}
		for _, l := range recall.accepted() {
			in.Recall = append(in.Recall, l.String())
		}
		for round := 1; ; round++ {
			if in.Score, err = m.score(ctx, round, in.Request); err != nil {
				return in, err
			}
			if in.Score.Total() >= MinReady || m.state.opened.Config.Offline || m.isForced() || round > maxRounds {
				break
			}
			if in.Questions, err = m.clarify(ctx, round, in.Request, in.Score); err != nil {
				return in, err
			}
			clearer, err := m.promptAnswers(ctx, round, in)
			if err != nil {
				return in, err
			}
			if clearer == "" {
				break
			}
			in.Request, in.Questions = clearer, nil
		}
		if in.Score.Total() < MinReady && in.Questions == nil {
			in.Questions = generalQuestions(in.Score)
		}
		in.Decision = decide(in.Score, in.Familiarity)
		if s := m.state.opened.Config.Shape; s != "" && in.Decision.Shape != Blocked {
			in.Decision.Shape, in.Decision.Why = Autonomy(s), "given"
		}
		in.Kind = classifyWorkflow(in.Request)
		if w := m.state.opened.Config.Workflow; w != "" {
			in.Kind = WorkflowMatch{Workflow: Workflow(w), By: "given"}
		}
		in.Reversibility = classifyReversibility(in.Request)
		in.Phases = phasesOf(in.Score, in.Kind, in.Reversibility)
		return in, nil
	})
}

// clarify lets a panel ask about the open dimensions. It adds general questions for dimensions that
// no expert asked about.
func (m *Machine) clarify(ctx context.Context, round int, request string,
	s Score) ([]counsel.ClarifyQuestion, error) {
	out := generalQuestions(s)
	if m.Panel == nil {
		return out, nil
	}
	v := counsel.ClarifyCase{Request: request, Dir: m.Dir}
	for _, d := range s.Missing() {
		v.Gaps = append(v.Gaps, counsel.Gap{Dimension: d.String(), About: d.Meaning(), Example: d.Example(maxPoints)})
	}
	answer, err := m.askOnce(ctx, fmt.Sprintf("clarify/%d", round), clarifyCap, func(ctx context.Context, limit budget.USD,
		logDir string) runner.Answer {
		v.Cap, v.LogDir = limit, logDir
		c := m.Panel.Clarify(ctx, v)
		a := runner.Answer{Outcome: runner.Done, Cost: c.Cost}
		if ctx.Err() != nil {
			a.Outcome, a.Reason = runner.Interrupted, "stopped while the panel was asked"
		}
		var err error
		if a.Structured, err = json.Marshal(c); err != nil {
			a.Outcome, a.Reason = runner.Broken, err.Error()
		}
		return a
	})
	if err != nil {
		return nil, err
	}
	var c counsel.Clarification
	if err := json.Unmarshal(answer, &c); err != nil {
		return nil, fmt.Errorf("the record of the clarification: %w", err)
	}
	if c.Unavailable != "" {
		m.Notify("the panel could not be asked (" + c.Unavailable + "); the questions are general ones")
	}
	for i := range out {
		same := func(q counsel.ClarifyQuestion) bool { return q.Dimension == out[i].Dimension }
		if j := slices.IndexFunc(c.Questions, same); j >= 0 {
			out[i] = c.Questions[j]
		}
	}
	return out, nil
}

// generalQuestions returns the questions that fit any request.
func generalQuestions(s Score) []counsel.ClarifyQuestion {
	var out []counsel.ClarifyQuestion
	for _, d := range s.Missing() {
		out = append(out, counsel.ClarifyQuestion{Dimension: d.String(), Question: d.Question(), Proposals: d.Proposals()})
	}
	return out
}

// promptAnswers asks a person, and returns the clarified request. It returns "" if no person is there or
// no question was answered.
func (m *Machine) promptAnswers(ctx context.Context, round int, in Intent) (string, error) {
	if m.Prompter == nil {
		return "", nil
	}
	return stageResult(m, fmt.Sprintf("answers/%d", round), func() (string, error) {
		given, err := m.Prompter.Clarify(ctx, in.Score, in.Questions)
		if err != nil {
			return "", err
		}
		clearer := in.Request
		for _, d := range dimensions {
			if a := strings.TrimSpace(given[d.String()]); a != "" {
				clearer += fmt.Sprintf("\n%s: %s", d.Title(), a)
			}
		}
		if clearer == in.Request {
			return "", nil
		}
		return clearer, nil
	})
}
