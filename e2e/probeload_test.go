//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"testing"

	"wavex/internal/claude/probe"
	"wavex/internal/claude/statement"
	"wavex/internal/claude/support"
)

// BenchmarkProbesBesideLoad probes each CLI as before its first run, beside four busy loops. On a
// machine that is too slow statements stay unknown; a statement that holds must never fail.
//
//	go test ./e2e -run '^$' -bench ProbesBesideLoad -benchtime 50x
func BenchmarkProbesBesideLoad(b *testing.B) {
	for range 4 {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = busy.Process.Kill() // it ends only by a kill
			_ = busy.Wait()
		})
	}
	for _, c := range shared.clis {
		b.Run(c.name, func(b *testing.B) {
			want := c.verdicts()
			unknown, cut := 0, 0
			for b.Loop() {
				r := probe.Run(b.Context(), probe.Target{Argv: []string{c.path}, Env: os.Environ()}, probe.Limit)
				for id, v := range r.Support {
					if v != want[id] {
						b.Errorf("%s %s: %s", id, v, r.Why[id])
					}
				}
				if why, _ := (support.CLI{Support: r.Support, Why: r.Why}).Refusal(); why != "" {
					b.Error(why)
				}
				unknown += len(r.Support.Select(statement.Unknown))
				if r.Err != nil {
					cut++
				}
			}
			b.ReportMetric(float64(unknown)/float64(b.N), "unknown/op")
			b.ReportMetric(float64(cut)/float64(b.N), "cut/op")
		})
	}
}
