package report_test

import (
	"bytes"
	"testing"
	"time"

	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// partsWriter keeps its input, and the size of the largest part.
type partsWriter struct {
	bytes.Buffer
	largest int
}

func (w *partsWriter) Write(b []byte) (int, error) {
	w.largest = max(w.largest, len(b))
	return w.Buffer.Write(b)
}

// Whole and in parts, the JSON of a run is the same, and no part holds more than a few tasks.
func TestWriteJSON(t *testing.T) {
	t.Parallel()
	runs := map[string]*reporttest.FakeRun{"none": reporttest.New(t, "none", nil),
		"many": reporttest.BigRun(t, 1000)}
	for name, tell := range testRuns {
		runs[name] = tell(t, nil)
	}
	for name, s := range runs {
		for _, alive := range []bool{false, true} {
			now := s.Now().Add(time.Hour)
			sum := report.Of(s.S, s.Events).At(now, alive)
			want, err := sum.JSON()
			testrepo.Must(t, err)
			var w partsWriter
			testrepo.Must(t, sum.WriteJSON(&w))
			if !bytes.Equal(w.Bytes(), want) {
				t.Errorf("%s, alive %v: it has\n%s\nwant\n%s", name, alive, w.Bytes(), want)
			}
			if most := 200 << 10; w.largest > most || name == "many" && w.Len() < 2*most {
				t.Errorf("%s: a part of %d bytes has %d", name, w.Len(), w.largest)
			}
		}
	}
}
