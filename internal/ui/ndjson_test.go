package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"wavex/internal/event"
	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

func openNDJSON(b *buffer) View { return NDJSON(b) }

// Package plan computes content keys; a change of keys must not change these golden files.
var contentKey = regexp.MustCompile(`"key":"[^"]*"`)

func TestNDJSONGolden(t *testing.T) {
	t.Parallel()
	schema := jsonschematest.New(t, event.Schema())
	for name, tell := range testRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := viewOutput(t, tell, openNDJSON)
			golden(t, "events-"+name+".ndjson", contentKey.ReplaceAllString(got, `"key":"KEY"`))
			var seq int64
			for line := range strings.Lines(got) {
				if err := schema.Validate([]byte(line)); err != nil {
					t.Errorf("%v: %s", err, line)
				}
				var e event.Event
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != seq+1 {
					t.Errorf("after %d comes %d (%v)", seq, e.Seq, err)
				}
				seq = e.Seq
			}
		})
	}
}

func TestNDJSONRunEnded(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(viewOutput(t, reporttest.MixedRun, openNDJSON)), "\n")
	var got map[string]any
	testrepo.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	delete(got, "data")
	want := map[string]any{"v": 1.0, "seq": float64(len(lines)), "time": "2026-01-02T03:07:45Z", "type": "run_ended",
		"status": "failed", "exit_code": 1.0, "cost_usd": 1.659, "iterations": 7.0,
		"tasks": map[string]any{"completed": 4.0, "failed": 1.0, "blocked": 1.0, "pending": 0.0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// Each stream is wrong for exactly one reason.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := jsonschematest.New(t, event.Schema())
	for name, line := range map[string]string{
		"version":      `{"v":2,"seq":1,"time":"2026-01-02T03:04:05Z","type":"notice","data":{"level":"info","text":"x"}}`,
		"unknown type": `{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","type":"nothing","data":{}}`,
		"bad time":     `{"v":1,"seq":1,"time":"noon","type":"notice","data":{"level":"info","text":"x"}}`,
		"no verdict":   `{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","type":"run_ended","data":{"status":"failed","exit_code":1,"tasks":{"completed":0,"failed":0,"blocked":0,"pending":0},"cost":0,"cost_usd":0,"iterations":0}}`,
		"bad status":   `{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","type":"draining","data":{"stop":{"status":"tired","exit_code":1,"reason":"x"}}}`,
	} {
		if !json.Valid([]byte(line)) || schema.Validate([]byte(line)) == nil {
			t.Errorf("%s: accepted %s", name, line)
		}
	}
}

// The schema describes every field that an event can have, and no other.
func TestSchemaCoversEveryEvent(t *testing.T) {
	t.Parallel()
	var doc struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	testrepo.Must(t, json.Unmarshal(event.Schema(), &doc))
	var check func(where string, def map[string]any, typ reflect.Type)
	check = func(where string, def map[string]any, typ reflect.Type) {
		if ref, ok := def["$ref"].(string); ok {
			where, def = ref, doc.Defs[strings.TrimPrefix(ref, "#/$defs/")]
		}
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Slice {
			if items, ok := def["items"].(map[string]any); ok {
				check(where+"[]", items, typ.Elem())
			}
			return
		}
		props, _ := def["properties"].(map[string]any)
		if typ.Kind() != reflect.Struct || typ.String() == "time.Time" {
			return
		}
		left := map[string]bool{}
		for p := range props {
			left[p] = true
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "-" || !f.IsExported() {
				continue
			}
			p, ok := props[tag].(map[string]any)
			if !ok {
				t.Errorf("%s lacks %q of %s", where, tag, typ)
				continue
			}
			delete(left, tag)
			check(where+"."+tag, p, f.Type)
		}
		for p := range left {
			t.Errorf("%s has %q, which %s has not", where, p, typ)
		}
	}
	for _, b := range []event.Body{event.RunStarted{}, event.RunResumed{}, event.WaveStarted{},
		event.AttemptStarted{},
		event.AttemptEnded{}, event.CounselStarted{}, event.CounselEnded{}, event.CounselSkipped{},
		event.CriteriaStarted{}, event.CriteriaEnded{}, event.ReviewStarted{}, event.ReviewEnded{},
		event.ReviewSkipped{},
		event.TasksAdded{}, event.GateEnded{}, event.RequestOpened{}, event.CallStarted{},
		event.CallEnded{},
		event.StageEnded{}, event.Asked{}, event.Answered{}, event.RolledBack{}, event.PrecheckStarted{},
		event.PrecheckEnded{}, event.Draining{}, event.Notice{}, event.RunEnded{}} {
		def, ok := doc.Defs[b.Type()]
		if !ok {
			t.Errorf("no definition of %s", b.Type())
			continue
		}
		check(b.Type(), def, reflect.TypeOf(b))
	}
}

// closedPipe fails from the first write on.
type closedPipe struct{ writes int }

func (p *closedPipe) Write([]byte) (int, error) {
	p.writes++
	return 0, io.ErrClosedPipe
}

func TestClosedPipe(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(io.Writer) View{
		"ndjson": NDJSON, "plain": func(w io.Writer) View { return Plain(w, Options{}) },
	} {
		w := &closedPipe{}
		v := open(w)
		reporttest.MixedRun(t, v.Event)
		if err := v.Close(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: Close says %v", name, err)
		}
		if w.writes != 1 {
			t.Errorf("%s: %d writes, want none after the failure", name, w.writes)
		}
		reporttest.CompleteRun(t, v.Event) // after Close these events do nothing
	}
}

// blockedWriter blocks every write until free is closed.
type blockedWriter struct{ free chan struct{} }

func (d blockedWriter) Write(b []byte) (int, error) {
	<-d.free
	return len(b), nil
}

func TestReaderThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := blockedWriter{make(chan struct{})}
		v := NDJSON(w)
		reporttest.MixedRun(t, v.Event) // the run is not held up
		if err := v.Close(); !errors.Is(err, ErrReaderStalled) {
			t.Errorf("Close says %v", err)
		}
		close(w.free) // the blocked write returns and the goroutine ends
		synctest.Wait()
	})
}

// slow writes slowly but makes progress, so Close waits for all of it.
func TestReaderThatIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{free: make(chan struct{})}
		v := NDJSON(w)
		s := reporttest.MixedRun(t, v.Event)
		closed := make(chan struct{})
		go func() {
			for { // once per write: some lines go together
				select {
				case w.free <- struct{}{}:
				case <-closed:
					return
				}
			}
		}()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		close(closed)
		n := 0
		for sc := bufio.NewScanner(&w.b); sc.Scan(); n++ {
		}
		if n != len(s.Events) {
			t.Errorf("%d lines of %d", n, len(s.Events))
		}
	})
}

type slowWriter struct {
	free chan struct{}
	b    bytes.Buffer
}

func (s *slowWriter) Write(b []byte) (int, error) {
	<-s.free
	return s.b.Write(b)
}

// Without a bound, a backlog would fill the machine's memory.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	w := blockedWriter{make(chan struct{})}
	s := newAsyncWriter(w)
	piece := make([]byte, 1<<20)
	for range 140 { // the blocked write may hold a whole backlog
		s.put(piece)
	}
	close(w.free)
	if err := s.close(); !errors.Is(err, ErrReaderStalled) {
		t.Errorf("close says %v", err)
	}
}
