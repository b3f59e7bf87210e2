//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkStart measures the cost of the engine's SDK for a command that does not use it: the time of wavex version,
// and the size of the binary.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	build := func(name string, args ...string) (path string, megabytes float64) {
		path = filepath.Join(dir, name)
		args = append([]string{"build", "-ldflags", "-s -w", "-o", path}, args...)
		cmd := exec.CommandContext(b.Context(), "go", append(args, "wavex/cmd/wavex")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("building wavex: %v\n%s", err, out)
		}
		return path, float64(must(os.Stat(path)).Size()) / 1e6
	}
	with, size := build("wavex")
	without, smaller := build("without", "-overlay", withoutEngine(b, dir))
	for b.Loop() {
		scores := race(b, "wavex version", []competitor{{name: "without the SDK", argv: []string{without, "version"}},
			{name: "wavex", argv: []string{with, "version"}}})
		older, newer := scores["without the SDK"], scores["wavex"]
		checkBound(b, "ms more", median(newer.wall)-median(older.wall), 3)
		checkBound(b, "ms of CPU more", median(newer.cpu)-median(older.cpu), 3)
		checkBound(b, "MB more", size-smaller, 10)
		fmt.Printf("  the binary has %.1f MB, and %.1f MB without the SDK\n", size, smaller)
	}
}

// withoutEngine returns the path of an overlay in dir that takes the SDK out of the build.
func withoutEngine(b *testing.B, dir string) string {
	b.Helper()
	engine := must(filepath.Abs("../internal/remote/temporal"))
	files := map[string]string{filepath.Join(engine, "none.go"): must(filepath.Abs("testdata/noengine.go"))}
	for _, path := range must(filepath.Glob(filepath.Join(engine, "*.go"))) {
		if !strings.HasSuffix(path, "_test.go") {
			files[path] = ""
		}
	}
	text := must(json.Marshal(map[string]any{"Replace": files}))
	return file(b, dir, "overlay.json", string(text))
}
