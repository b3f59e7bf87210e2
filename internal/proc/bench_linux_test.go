package proc

import (
	"io"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The three benchmarks run /bin/true with a pipe on its output and read it to the end. Run them
// with -reaper, which is how the command line uses the package.

func BenchmarkBare(b *testing.B) {
	cpu := cpuTime(b)
	for b.Loop() {
		bareTrue(b)
	}
	cpu(b)
}

func BenchmarkStartWait(b *testing.B) {
	cpu := cpuTime(b)
	for b.Loop() {
		runTrue(b)
	}
	cpu(b)
}

func BenchmarkStartWait8(b *testing.B) {
	cpu := cpuTime(b)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			runTrue(b)
		}
	})
	cpu(b)
}

func BenchmarkBare8(b *testing.B) {
	cpu := cpuTime(b)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			bareTrue(b)
		}
	})
	cpu(b)
}

func bareTrue(b *testing.B) {
	c := exec.Command("/bin/true")
	c.Env, c.Dir = testEnv, "/"
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
}

func runTrue(b *testing.B) {
	p, err := Start(Spec{Argv: []string{"/bin/true"}, Dir: "/", Env: testEnv, Mark: "bench/t/1"})
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, p.Stdout)
	if e := p.Wait(); e.Code != 0 || !e.Contained {
		b.Fatalf("%+v", e)
	}
}

// cpuTime reports the CPU time per operation of this process, without its children's.
func cpuTime(b *testing.B) func(*testing.B) {
	used := func() float64 {
		var ru unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
			b.Fatal(err)
		}
		return float64(ru.Utime.Nano() + ru.Stime.Nano())
	}
	before := used()
	return func(b *testing.B) {
		b.ReportMetric((used()-before)/float64(b.N), "cpu-ns/op")
	}
}
