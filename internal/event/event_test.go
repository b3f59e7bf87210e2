package event

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Every type with a method Type must be in bodies, under a name of its own.
func TestBodiesAreComplete(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{"Removed": true}
	for _, b := range bodies {
		listed[reflect.TypeOf(b).Name()] = true
	}
	if len(typesByName()) != len(bodies) {
		t.Errorf("%d names for %d types", len(typesByName()), len(bodies))
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && m.Name.Name == "Type" {
				found++
				if name := m.Recv.List[0].Type.(*ast.Ident).Name; !listed[name] {
					t.Errorf("bodies lacks %s", name)
				}
			}
		}
	}
	if found != len(bodies)+1 {
		t.Errorf("%d types in the source, %d in bodies and Removed", found, len(bodies))
	}
}

func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range bodies {
		e := Event{Seq: 7, Time: time.Unix(1, 0).UTC(), Body: body}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got Event
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("%s: %v", body.Type(), err)
		}
		if reflect.TypeOf(got.Body) != reflect.TypeOf(body) || got.Seq != e.Seq || !got.Time.Equal(e.Time) {
			t.Errorf("%s became %+v", line, got)
		}
	}
}

// Records of types that no longer exist can be read. Only the money that they tell of counts.
func TestRemovedTypes(t *testing.T) {
	t.Parallel()
	for _, name := range removed {
		var e Event
		line := `{"v":1,"seq":3,"type":"` + name + `","data":{"task":"a","cap":9,"cost":7}}`
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != 3 || e.Body != (Removed{Cost: 7}) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"v":1,"type":"teleported","data":{}}`:           `unknown event type "teleported"`,
		`{"v":2,"type":"notice","data":{}}`:               "event version 2; this wavex reads version 1",
		`{"v":1,"type":"notice","data":{"level":1}}`:      "event notice: ",
		`{"v":1,"type":"wave_started","data":{"wave":""}`: "unexpected end",
	} {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stop   *Stop
		want   ExitCode
		status RunStatus
	}{
		{NewStop(RunComplete, "", ""), 0, "complete"},
		{NewStop(RunFailed, "", ""), 1, "failed"},
		{NewStop(RunCancelled, "", ""), 1, "cancelled"},
		{NewStop(RunPaused, "", ""), 3, "paused"},
		{NewStop(RunBlocked, "", ""), 5, "blocked"},
		{NewStop(RunLimited, "", ""), 6, "limited"},
		{Trip(SameError, "", ""), 4, "paused"},
		{Trip(MustNot, "", ""), 4, "paused"},
		{Trip(Blockers, "", ""), 4, "paused"},
		{Trip(Breaker(GateG2), "", ""), 1, "paused"},
		{Trip(Breaker(GateG3), "", ""), 1, "paused"},
		{Trip(Breaker(GateRetry), "", ""), 1, "paused"},
		{Interrupt("SIGTERM", 143), 143, "interrupted"},
		{Interrupt("its caller", 0), 130, "interrupted"},
	} {
		if c.stop.ExitCode != c.want || c.stop.Status != c.status || c.stop.AtLimit() != (c.want == 3) {
			t.Errorf("%+v, want %s with exit code %d", c.stop, c.status, c.want)
		}
	}
}
