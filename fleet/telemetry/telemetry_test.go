package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/runner"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
)

func env(kv ...string) func(string) string {
	return func(name string) string {
		for _, s := range kv {
			if v, ok := strings.CutPrefix(s, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// record plays a story to a Tracer and returns the spans that it made.
func record(t *testing.T, story func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun,
	getenv func(string) string,
	see func(*Tracer, event.Event)) []sdk.ReadOnlySpan {
	t.Helper()
	mem := &kept{}
	tr, err := New(t.Context(), mem, "v1", getenv)
	if err != nil {
		t.Fatal(err)
	}
	story(t, func(e event.Event, s *scheduler.State) {
		tr.Event(e, s)
		see(tr, e)
	})
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return mem.spans
}

// kept is an exporter that keeps spans beyond its shutdown.
type kept struct{ spans []sdk.ReadOnlySpan }

func (k *kept) ExportSpans(_ context.Context, s []sdk.ReadOnlySpan) error {
	k.spans = append(k.spans, s...)
	return nil
}
func (*kept) Shutdown(context.Context) error { return nil }

func nothing(*Tracer, event.Event) {}

func value(s sdk.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// TestTree: every span lies within its parent, the parent is of the right kind, and all are below
// the span that wavex runs in.
func TestTree(t *testing.T) {
	t.Parallel()
	spans := record(t, reporttest.MixedRun, env("TRACEPARENT=00-"+parentTrace+"-"+parentSpan+"-01"), nothing)
	byID := map[string]sdk.ReadOnlySpan{}
	for _, s := range spans {
		byID[s.SpanContext().SpanID().String()] = s
	}
	above := map[string][]string{"wave": {"run"}, "task": {"wave"}, "attempt": {"task"}, "counsel": {"task"},
		"check": {"attempt"}}
	count := map[string]int{}
	for _, s := range spans {
		count[s.Name()]++
		if got := s.SpanContext().TraceID().String(); got != parentTrace {
			t.Errorf("%s is of trace %s", s.Name(), got)
		}
		parent := byID[s.Parent().SpanID().String()]
		if s.Name() == "run" {
			if s.Parent().SpanID().String() != parentSpan {
				t.Errorf("the run's parent is %s", s.Parent().SpanID())
			}
			continue
		}
		if parent == nil || !slices.Contains(above[s.Name()], parent.Name()) {
			t.Errorf("%s has no parent of its kind", s.Name())
			continue
		}
		if s.StartTime().Before(parent.StartTime()) || s.EndTime().After(parent.EndTime()) ||
			s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s lies outside of its %s: %s to %s, %s to %s", s.Name(), parent.Name(), s.StartTime(), s.EndTime(),
				parent.StartTime(), parent.EndTime())
		}
	}
	if count["run"] != 1 || count["wave"] < 2 || count["task"] < 3 || count["attempt"] <= count["task"] ||
		count["counsel"] < 1 || count["check"] < 1 {
		t.Errorf("%v", count)
	}
}

// TestAttributes checks the cost, outcome and errors in the spans.
func TestAttributes(t *testing.T) {
	t.Parallel()
	var ended []event.AttemptEnded
	spans := record(t, reporttest.MixedRun, env("OTEL_SERVICE_NAME=nightly"), func(_ *Tracer, e event.Event) {
		if b, ok := e.Body.(event.AttemptEnded); ok {
			ended = append(ended, b)
		}
	})
	for _, b := range ended {
		i := slices.IndexFunc(spans, func(s sdk.ReadOnlySpan) bool {
			return s.Name() == "attempt" && value(s, "wavex.task.id") == b.Task &&
				value(s, "wavex.attempt") == fmt.Sprint(b.Attempt)
		})
		if i < 0 {
			t.Errorf("no span of %s, attempt %d", b.Task, b.Attempt)
			continue
		}
		s := spans[i]
		if value(s, "wavex.outcome") != string(b.Result.Outcome) ||
			(s.Status().Code == codes.Error) != (b.Result.Outcome != "done") ||
			value(s, "gen_ai.usage.output_tokens") != fmt.Sprint(b.Result.Usage.Output) {
			t.Errorf("%s: %v %v", b.Task, s.Status(), s.Attributes())
		}
	}
	if got, _ := spans[0].Resource().Set().Value("service.name"); got.AsString() != "nightly" {
		t.Errorf("service %q", got.AsString())
	}
}

// TestEnv: the processes of a running attempt get its span.
func TestEnv(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	spans := record(t, reporttest.CompleteRun, env(), func(tr *Tracer, e event.Event) {
		if b, ok := e.Body.(event.AttemptStarted); ok {
			told[tr.Env(runner.Request{Task: b.Task, Attempt: b.Attempt})["TRACEPARENT"]] = true
			if tr.Env(runner.Request{Task: b.Task, Attempt: b.Attempt + 1}) != nil {
				t.Error("an attempt that has not begun has a span")
			}
		}
	})
	attempts := 0
	for _, s := range spans {
		if s.Name() == "attempt" {
			attempts++
			if c := s.SpanContext(); !told["00-"+c.TraceID().String()+"-"+c.SpanID().String()+"-01"] {
				t.Errorf("nobody was told of %s", c.SpanID())
			}
		}
	}
	if attempts == 0 || len(told) != attempts {
		t.Errorf("%d attempts, told of %d", attempts, len(told))
	}
}

// A cost that is corrected after the span of its attempt has ended is an event of the run's span.
func TestCorrectedCost(t *testing.T) {
	t.Parallel()
	lost := func(t testing.TB, see func(event.Event, *scheduler.State)) *reporttest.FakeRun {
		s := reporttest.New(t, "lost", reporttest.Tasks{{ID: "a", Subject: "A"}})
		s.Show = see
		c := reporttest.Config()
		c.Workers.Engine = "temporal://engine.example:7233/default"
		s.StartRun(c).StartWave(1).StartAttempt("a", 0)
		s.EndAttempt("a", runner.Result{Outcome: runner.Interrupted, Cost: 900_000, Priced: "cap"}, event.Pending, nil)
		return s.Apply(event.CostCorrected{Task: "a", Key: s.S.Tasks[0].Key, Attempt: 1, Was: 900_000, Cost: 4_000})
	}
	spans := record(t, lost, env(), nothing)
	run := spans[slices.IndexFunc(spans, func(s sdk.ReadOnlySpan) bool { return s.Name() == "run" })]
	if len(run.Events()) != 1 || run.Events()[0].Name != "cost corrected" {
		t.Fatalf("%+v", run.Events())
	}
	want := []attribute.KeyValue{stringAttr("wavex.task.id", "a"), intAttr("wavex.attempt", 1),
		usdAttr("wavex.cost_usd", 4_000), usdAttr("wavex.counted_usd", 900_000)}
	if got := run.Events()[0].Attributes; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestSpansOfACutOffRun: a run that stops in the middle ends its spans too.
func TestSpansOfACutOffRun(t *testing.T) {
	t.Parallel()
	mem := &kept{}
	tr, err := New(t.Context(), mem, "v1", env())
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	reporttest.MixedRun(t, func(e event.Event, s *scheduler.State) {
		if begun++; begun <= 6 {
			tr.Event(e, s)
		}
	})
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range mem.spans {
		names[s.Name()] = true
	}
	if !names["run"] || !names["wave"] || !names["attempt"] {
		t.Errorf("%v", names)
	}
}

// TestExport sends to a collector on loopback, as configured by the environment.
func TestExport(t *testing.T) {
	var got collector.ExportTraceServiceRequest
	var key string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body io.Reader = q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(q.Body)
		}
		b, err := io.ReadAll(body)
		if err != nil || q.URL.Path != "/v1/traces" || proto.Unmarshal(b, &got) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		key = q.Header.Get("X-Key")
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
	e, err := Exporter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := New(t.Context(), e, "v1", env())
	if err != nil {
		t.Fatal(err)
	}
	reporttest.CompleteRun(t, tr.Event)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if key != "abc" || len(got.ResourceSpans) == 0 || !bytes.Contains([]byte(got.String()), []byte(`"attempt"`)) {
		t.Errorf("key %q, %s", key, got.String())
	}
}

// TestUnreachableCollector: the error comes at the end and not before, and without hanging.
func TestUnreachableCollector(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	srv.Close()
	e, err := Exporter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := New(t.Context(), e, "v1", env())
	if err != nil {
		t.Fatal(err)
	}
	reporttest.CompleteRun(t, tr.Event)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tr.Close(ctx); err == nil {
		t.Error("nobody took the spans, and nobody was told")
	}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	on := "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, c := range []struct {
		env  []string
		want bool
		why  string
	}{
		{nil, false, ""},
		{[]string{on}, true, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces"}, true, ""},
		{[]string{on, "OTEL_SDK_DISABLED=true"}, false, ""},
		{[]string{on, "OTEL_TRACES_EXPORTER=none"}, false, ""},
		{[]string{on, "OTEL_TRACES_EXPORTER=zipkin"}, false, "zipkin"},
		{[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, false, "grpc"},
		{[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"}, true, ""},
	} {
		got, why := Enabled(env(c.env...))
		if got != c.want || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%v: %t %q", c.env, got, why)
		}
	}
}
