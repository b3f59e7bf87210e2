package fleet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"wavex/cmd"
	"wavex/internal/testrepo"
)

// Where the environment names a collector, a run becomes a trace, and its commands are told which span they are. A
// collector that does not answer is told at the end, and the run is as good as without.
func TestTraces(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	testrepo.Files{"plan.json": `{"tasks":[{"id":"a","command":"echo $TRACEPARENT > told.txt"}]}`}.Write(t, dir)
	var spans atomic.Bool
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		text, _ := io.ReadAll(q.Body)
		spans.Store(spans.Load() || strings.Contains(string(text), "attempt"))
	}))
	defer collector.Close()
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	for _, c := range []struct{ endpoint, protocol, want string }{
		{collector.URL, "", ""},
		{"http://127.0.0.1:1", "", "sending traces: "},
		{collector.URL, "grpc", `no traces: the OTLP protocol is "grpc"; wavex speaks http/protobuf only`},
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.endpoint)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", c.protocol)
		said := &buffer{}
		code := cmd.Main(t.Context(), []string{"run", "--agent", "rehearse", "--fresh"},
			cmd.Stdio{In: strings.NewReader(""), Out: said, Err: said, Fleet: New()})
		if code != 0 || !strings.Contains(said.String(), c.want) ||
			strings.Contains(said.String(), "traces") != (c.want != "") {
			t.Errorf("%+v: exit %d\n%s", c, code, said)
		}
		text, err := os.ReadFile("told.txt")
		testrepo.Must(t, err)
		traced := strings.HasPrefix(string(text), "00-0af7651916cd43dd8448eb211c80319c-") &&
			!strings.Contains(string(text), "b7ad6b7169203331")
		if traced == (c.protocol != "") {
			t.Errorf("%+v: the command was told %s", c, text)
		}
	}
	if !spans.Load() {
		t.Error("the collector has no span of an attempt")
	}
}
