package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
	"wavex/scheduler"
)

// This file maps events to the start and end of spans and to their attributes. Spans have few
// names, so that they can be grouped; the differences are in the attributes.

// Event starts and ends spans. It never blocks: spans wait in a bounded buffer.
func (t *Tracer) Event(e event.Event, s *scheduler.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch b := e.Body.(type) {
	case event.RunStarted:
		t.startRun(e, s, false)
	case event.RunResumed:
		t.startRun(e, s, true)
	case event.WaveStarted:
		t.wave(b.Wave, e.Time)
	case event.AttemptStarted:
		subject := ""
		if i, ok := s.Index(b.Task); ok {
			subject = s.Plan.Tasks[i].Subject
		}
		task := t.task(b.Task, subject, b.Wave, e.Time)
		t.open[attemptKey(b.Task, b.Attempt)] = t.start(task.ctx, "attempt", e.Time,
			stringAttr("wavex.task.id", b.Task), intAttr("wavex.attempt", b.Attempt), stringAttr("wavex.attempt.why", b.Why),
			intAttr("wavex.slot", b.Slot), boolAttr("wavex.advised", b.Advised), usdAttr("wavex.cap_usd", b.Cap))
	case event.AttemptEnded:
		t.attemptEnded(b, e.Time)
	case event.CostCorrected:
		t.costCorrected(b, e.Time)
	case event.CounselStarted:
		if task, ok := t.tasks[b.Task]; ok {
			t.open[panelKey(b.Task, b.Panel)] = t.start(task.ctx, "counsel", e.Time, stringAttr("wavex.task.id", b.Task),
				intAttr("wavex.panel", b.Panel))
		}
	case event.CounselEnded:
		t.end(panelKey(b.Task, b.Panel), e.Time, b.Verdict.Unavailable, stringAttr("wavex.counsel.action",
			string(b.Verdict.Action)),
			intAttr("wavex.counsel.opinions", len(b.Verdict.Opinions)), usdAttr("wavex.cost_usd", b.Verdict.Cost))
	case event.ReviewStarted:
		t.open[reviewKey(b.N)] = t.start(t.run.ctx, "review", e.Time, stringAttr("wavex.review.mode", string(b.Mode)),
			intAttr("wavex.wave", b.Wave), intAttr("wavex.review.round", b.Round))
	case event.ReviewEnded:
		t.end(reviewKey(b.N), e.Time, b.Review.Error, boolAttr("wavex.review.passed", b.Passed),
			intAttr("wavex.review.blockers", b.Blockers),
			intAttr("wavex.review.findings", len(b.Review.Findings)), usdAttr("wavex.cost_usd", b.Review.Cost))
	case event.CriteriaStarted:
		t.open[criteriaKey(b.Round)] = t.start(t.run.ctx, "criteria", e.Time)
	case event.CriteriaEnded:
		said := []attribute.KeyValue{intAttr("wavex.criteria", len(b.Criteria)), usdAttr("wavex.cost_usd", b.Cost)}
		if r := b.Rechecked; r != nil {
			said = append(said, intAttr("wavex.rechecks", r.Made), intAttr("wavex.regressions", len(r.Regressions)))
		}
		t.end(criteriaKey(b.Round), e.Time, b.Error, said...)
	case event.IntegrationStarted:
		t.open["integration"] = t.start(t.run.ctx, "integration", e.Time, intAttr("wavex.wave", b.Wave))
	case event.IntegrationEnded:
		t.end("integration", e.Time, "")
	case event.DeliveryStarted:
		t.open["delivery"] = t.start(t.run.ctx, "delivery", e.Time)
	case event.DeliveryEnded:
		t.end("delivery", e.Time, "", stringAttr("wavex.delivery", b.How))
	case event.RunEnded:
		t.runEnded(b, e.Time)
	}
}

func (t *Tracer) startRun(e event.Event, s *scheduler.State, resumed bool) {
	t.run = t.start(t.parent, "run", e.Time, stringAttr("wavex.run", s.Config.Run), stringAttr("wavex.plan", s.Plan.Name),
		boolAttr("wavex.resumed", resumed), intAttr("wavex.tasks", len(s.Plan.Tasks)), intAttr("wavex.waves", s.Waves),
		intAttr("wavex.parallel", s.Config.Parallel), stringAttr("wavex.agent", s.Config.Agent))
}

// wave opens a wave's span. Without a barrier several are open at once.
func (t *Tracer) wave(n int, at time.Time) span {
	w, ok := t.waves[n]
	if !ok {
		w = t.start(t.run.ctx, "wave", at, intAttr("wavex.wave", n))
		t.waves[n] = w
	}
	return w
}

// task opens a task's span, which lasts from its first attempt to its last.
func (t *Tracer) task(id, subject string, wave int, at time.Time) span {
	s, ok := t.tasks[id]
	if !ok {
		s = t.start(t.wave(wave, at).ctx, "task", at, stringAttr("wavex.task.id", id),
			stringAttr("wavex.task.subject", subject), intAttr("wavex.wave", wave))
		t.tasks[id] = s
	}
	return s
}

func (t *Tracer) attemptEnded(b event.AttemptEnded, at time.Time) {
	key := attemptKey(b.Task, b.Attempt)
	r := &b.Result
	if call, ok := t.open[key]; ok {
		t.checks(call, r, at)
	}
	problem := ""
	if r.Outcome != runner.Done {
		problem = fmt.Sprintf("%s: %s", r.Outcome, r.Reason)
	}
	t.end(key, at, problem, stringAttr("wavex.outcome", string(r.Outcome)), usdAttr("wavex.cost_usd", r.Cost),
		attribute.Int64("gen_ai.usage.input_tokens", r.Usage.Input), attribute.Int64("gen_ai.usage.output_tokens",
			r.Usage.Output),
		attribute.Int64("wavex.usage.cache_read_tokens", r.Usage.CacheRead), attribute.Int64("wavex.usage.cache_write_tokens",
			r.Usage.CacheWrite),
		stringAttr("session.id", r.Session), intAttr("wavex.turns", r.Turns), boolAttr("wavex.charged", b.Charged))
	task, ok := t.tasks[b.Task]
	if !ok || !b.Status.Finished() && b.Status != event.Verified {
		return
	}
	task.SetAttributes(stringAttr("wavex.task.status", string(b.Status)))
	if b.Status == event.Failed {
		task.SetStatus(codes.Error, r.Reason)
	}
	task.End(trace.WithTimestamp(at))
	delete(t.tasks, b.Task)
}

// costCorrected adds an event to the span of the run: the span of the attempt has ended.
func (t *Tracer) costCorrected(b event.CostCorrected, at time.Time) {
	if t.run.Span != nil {
		t.run.AddEvent("cost corrected", trace.WithTimestamp(at), trace.WithAttributes(
			stringAttr("wavex.task.id", b.Task), intAttr("wavex.attempt", b.Attempt), usdAttr("wavex.cost_usd", b.Cost),
			usdAttr("wavex.counted_usd", b.Was)))
	}
}

// checks adds spans for an attempt's checks. They ran one after the other before the attempt
// ended; only their durations are known.
func (t *Tracer) checks(attempt span, r *runner.Result, end time.Time) {
	var all time.Duration
	for _, c := range r.Checks {
		all += c.Duration
	}
	at := end.Add(-all)
	if at.Before(attempt.started) {
		at = attempt.started
	}
	for _, c := range r.Checks {
		s := t.start(attempt.ctx, "check", at, stringAttr("wavex.check", c.Check), boolAttr("wavex.check.passed", c.Passed),
			intAttr("wavex.exit_code", c.ExitCode))
		if !c.Passed {
			s.SetStatus(codes.Error, c.Reason)
		}
		at = at.Add(c.Duration)
		s.End(trace.WithTimestamp(at))
	}
}

func (t *Tracer) runEnded(b event.RunEnded, at time.Time) {
	endAll(t.tasks, at)
	endAll(t.waves, at)
	if t.run.Span == nil {
		return
	}
	t.run.SetAttributes(stringAttr("wavex.status", string(b.Status)), intAttr("wavex.exit_code", int(b.ExitCode)),
		usdAttr("wavex.cost_usd", b.Cost), intAttr("wavex.iterations", b.Iterations),
		intAttr("wavex.tasks.completed", b.Tasks.Completed), intAttr("wavex.tasks.failed", b.Tasks.Failed))
	if b.ExitCode != 0 {
		t.run.SetStatus(codes.Error, b.Reason)
	}
	t.run.End(trace.WithTimestamp(at))
	t.run.Span = nil
}

func (t *Tracer) start(parent context.Context, name string, at time.Time, attrs ...attribute.KeyValue) span {
	if parent == nil {
		parent = t.parent // an event before that of the run: no span of wavex can be the parent
	}
	ctx, s := t.tracer.Start(parent, name, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	return span{s, ctx, at}
}

func (t *Tracer) end(key string, at time.Time, problem string, attrs ...attribute.KeyValue) {
	s, ok := t.open[key]
	if !ok {
		return // started in an earlier session
	}
	delete(t.open, key)
	s.SetAttributes(attrs...)
	if problem != "" {
		s.SetStatus(codes.Error, problem)
	}
	s.End(trace.WithTimestamp(at))
}

var stringAttr, intAttr, boolAttr = attribute.String, attribute.Int, attribute.Bool

func usdAttr(key string, v budget.USD) attribute.KeyValue { return attribute.Float64(key, v.Float()) }
