//go:build unix

package bench

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var statusTasks = flag.Int("status-tasks", 10_000, "tasks of the run that BenchmarkStatus shows")

// BenchmarkStatus runs many no-op commands once, and then measures the commands that show the run.
func BenchmarkStatus(b *testing.B) {
	wavex, dir := wavexBinary(b), b.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, `{"name":"status","budget":{"iterations":%d},"tasks":[`, 2**statusTasks)
	for i := range *statusTasks {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"id":"T-%06d","subject":"Task number %d","command":":"`, i, i)
		if i >= 1000 {
			fmt.Fprintf(&text, `,"blockedBy":["T-%06d"]`, i-1000)
		}
		text.WriteByte('}')
	}
	text.WriteString("]}")
	file(b, dir, "plan.json", text.String())
	show := func(args ...string) (cpu, rss float64) {
		took, cpu, rss := measureOnce(b, competitor{name: args[0], argv: append([]string{wavex}, args...)}, dir)
		fmt.Printf("  %-24s %7.0f ms, %7.0f ms of CPU, %5.0f MB\n", strings.Join(args, " "), took, cpu, rss)
		return cpu, rss
	}
	show("run", "plan.json", "--trust", "-j8", "--plain")
	for b.Loop() {
		for _, args := range [][]string{{"status"}, {"report"}, {"watch", "--plain"}, {"logs", "T-000500"}} {
			cpu, rss := show(args...)
			checkBound(b, strings.Join(args, " ")+", ms of CPU", cpu, 500)
			checkBound(b, strings.Join(args, " ")+", MB", rss, 100)
		}
		show("report", "--format", "json")
	}
}
