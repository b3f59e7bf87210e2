package plan

// This file measures loading, with generated plans. See also TestBigPlan.

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/plan/source"
)

func BenchmarkLoad(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1k", 1000}, {"100k", 100_000}, {"1M", 1_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "plan.json")
			data := bigPlan(size.n)
			if err := os.WriteFile(file, data, 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			data = nil
			b.ReportAllocs()
			for b.Loop() {
				p, ds, err := Load(file)
				if err != nil || p == nil {
					b.Fatal(ds, err)
				}
			}
		})
	}
}

// BenchmarkJSONTokens measures jsontext's share of Load.
func BenchmarkJSONTokens(b *testing.B) {
	src := string(bigPlan(100_000))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		s := source.NewJSON(src)
		for s.Next().Kind != source.KindBad {
			continue
		}
	}
}
