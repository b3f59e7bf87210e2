// Package telemetry turns a run into OpenTelemetry traces: the session of a run, its waves,
// tasks, attempts, checks, panels and reviews are spans. It reads events and decides nothing. A
// collector that does not answer never delays the run. It is off unless the environment names a
// collector.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"wavex/runner"
)

// Enabled reports whether the environment asks for traces, by the variables of the OpenTelemetry
// specification. why is not empty if it asks for something that wavex cannot do.
func Enabled(getenv func(string) string) (yes bool, why string) {
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return false, ""
	}
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return false, ""
	}
	if e := getenv("OTEL_TRACES_EXPORTER"); e == "none" {
		return false, ""
	} else if e != "" && e != "otlp" {
		return false, fmt.Sprintf("OTEL_TRACES_EXPORTER is %q; wavex exports by otlp only", e)
	}
	protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Sprintf("the OTLP protocol is %q; wavex speaks http/protobuf only", protocol)
	}
	return true, ""
}

// Exporter returns an exporter for the address, headers and timeouts in the environment.
func Exporter(ctx context.Context) (sdk.SpanExporter, error) {
	return otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second,
		MaxElapsedTime: 10 * time.Second}))
}

// Tracer is a scheduler.View that makes spans from events.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	errors   *errorKeeper
	parent   context.Context // the span that wavex itself runs in, if any; never cancelled

	mu    sync.Mutex // of the spans: Env is called by the goroutines of attempts
	run   span
	waves map[int]span
	tasks map[string]span
	open  map[string]span // attempts, panels, reviews and others, by kind and name
}

// span is a span that has not ended.
type span struct {
	trace.Span
	ctx     context.Context // the context of its children
	started time.Time
}

// New returns a Tracer. getenv returns the TRACEPARENT of wavex itself, OTEL_RESOURCE_ATTRIBUTES
// and OTEL_SERVICE_NAME; the default service is "wavex".
func New(ctx context.Context, e sdk.SpanExporter, version string, getenv func(string) string) (*Tracer, error) {
	name := attribute.String("service.name", cmp.Or(getenv("OTEL_SERVICE_NAME"), "wavex"))
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "wavex")),
		resource.WithFromEnv(), resource.WithAttributes(name, attribute.String("service.version", version)))
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	f := &errorKeeper{SpanExporter: e}
	p := sdk.NewTracerProvider(sdk.WithBatcher(f), sdk.WithResource(res))
	carrier := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	return &Tracer{provider: p, tracer: p.Tracer("wavex", trace.WithInstrumentationVersion(version)), errors: f,
		parent: propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), carrier),
		waves:  map[int]span{}, tasks: map[string]span{}, open: map[string]span{}}, nil
}

func attemptKey(task string, n int) string   { return "attempt/" + task + "/" + strconv.Itoa(n) }
func panelKey(task string, panel int) string { return "counsel/" + task + "/" + strconv.Itoa(panel) }
func reviewKey(n int) string                 { return "review/" + strconv.Itoa(n) }
func criteriaKey(round int) string           { return "criteria/" + strconv.Itoa(round) }

// Env returns the environment of an attempt with the trace variables of its span: TRACEPARENT, and TRACESTATE if there
// is one.
func (t *Tracer) Env(req runner.Request) map[string]string {
	t.mu.Lock()
	s, ok := t.open[attemptKey(req.Task, req.Attempt)]
	t.mu.Unlock()
	if !ok {
		return req.Env
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(s.ctx, carrier)
	env := map[string]string{}
	maps.Copy(env, req.Env)
	env["TRACEPARENT"] = carrier["traceparent"]
	if state := carrier["tracestate"]; state != "" {
		env["TRACESTATE"] = state
	}
	return env
}

// Close ends the open spans, sends the remaining ones until ctx is done, and returns an error for
// those that could not be sent.
func (t *Tracer) Close(ctx context.Context) error {
	t.mu.Lock()
	now := time.Now()
	endAll(t.open, now)
	endAll(t.tasks, now)
	endAll(t.waves, now)
	if t.run.Span != nil {
		t.run.End(trace.WithTimestamp(now))
	}
	t.mu.Unlock()
	err := t.provider.Shutdown(ctx)
	if first := t.errors.first.Load(); first != nil {
		err = *first
	}
	if err != nil {
		return fmt.Errorf("sending traces: %w", err)
	}
	return nil
}

// endAll ends spans and forgets them.
func endAll[K comparable](spans map[K]span, at time.Time) {
	for _, s := range spans {
		s.End(trace.WithTimestamp(at))
	}
	clear(spans)
}

// errorKeeper keeps the first error of an exporter, instead of passing it to the global handler,
// which writes to stderr in the middle of a run.
type errorKeeper struct {
	sdk.SpanExporter
	first atomic.Pointer[error]
}

func (f *errorKeeper) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := f.SpanExporter.ExportSpans(ctx, spans); err != nil {
		f.first.CompareAndSwap(nil, &err)
	}
	return nil
}
