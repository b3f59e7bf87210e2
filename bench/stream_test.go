//go:build unix

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/testrepo"
)

// streamSize is about the size of a long attempt's stream.
const streamSize = 64 << 20

// writeStream writes a stream like that of the CLI in a long attempt: assistant lines with usage and tool
// uses, partial messages, and tool results, which are the bulk.
func writeStream(b *testing.B, path string) {
	b.Helper()
	f, err := os.Create(path)
	testrepo.Must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	text, err := json.Marshal(strings.Repeat("func main() {\n\tfmt.Println(\"hello, world\") // a line of a file\n}\n",
		120))
	testrepo.Must(b, err)
	written := 0
	for i := 0; written < streamSize; i++ {
		n, _ := fmt.Fprintf(w, `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Looking at file %d."},{"type":"tool_use","id":"toolu_%d","name":"Edit","input":{"file_path":"/w/f%d.go","old_string":"a","new_string":"b"}}],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":40000,"output_tokens":%d}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}`+"\n", i, i, i, i%9, i%700)
		written += n
		for k := range 3 {
			n, _ = fmt.Fprintf(w, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"token %d "}},"session_id":"s","uuid":"u"}`+"\n", k)
			written += n
		}
		n, _ = fmt.Fprintf(w, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":%s}]},"session_id":"s","uuid":"u"}`+"\n", i, text)
		written += n
	}
	fmt.Fprintln(w, `{"type":"result","subtype":"success","is_error":false,"num_turns":9,"result":"done","session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":1,"output_tokens":2}}`)
	testrepo.Must(b, w.Flush())
	testrepo.Must(b, f.Close())
}

// decodeNaively parses the same stream with bufio.Scanner and encoding/json.
func decodeNaively(path string) (tokens float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 10<<20)
	for s.Scan() {
		var line struct {
			Type    string `json:"type"`
			Message struct {
				ID      string         `json:"id"`
				Usage   map[string]any `json:"usage"`
				Content []any          `json:"content"`
			} `json:"message"`
		}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			return 0, err
		}
		if n, ok := line.Message.Usage["output_tokens"].(float64); ok && line.Type == "assistant" {
			tokens += n
		}
	}
	return tokens, s.Err()
}

// BenchmarkStream measures parsing the CLI's output, with usage, tool uses and the result.
func BenchmarkStream(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "stream.jsonl") // the name that Recall reads
	writeStream(b, path)
	var fast, slow, jq []float64
	var grown uint64
	rate := func(run func() error) float64 {
		began := time.Now()
		testrepo.Must(b, run())
		return streamSize / 1e6 / time.Since(began).Seconds()
	}
	for b.Loop() {
		for range benchFlags.rounds {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			fast = append(fast, rate(func() error { _, err := claude.RecoverCost(dir, budget.Prices{}, 0); return err }))
			runtime.ReadMemStats(&after)
			grown = max(grown, after.TotalAlloc-before.TotalAlloc)
			slow = append(slow, rate(func() error { _, err := decodeNaively(path); return err }))
			if _, err := exec.LookPath("jq"); err == nil {
				jq = append(jq, rate(func() error {
					return exec.CommandContext(b.Context(), "jq", "-c", `select(.type=="assistant").message.usage`, path).Run()
				}))
			}
		}
		fmt.Printf("\nstream of %d MB (medians of %d rounds in turns)\n", streamSize>>20, benchFlags.rounds)
		fmt.Printf("  %-28s %9.0f MB/s, %.1f MB allocated in all\n  %-28s %9.0f MB/s\n", "wavex", median(fast),
			float64(grown)/(1<<20), "bufio.Scanner, encoding/json", median(slow))
		if len(jq) > 0 {
			fmt.Printf("  %-28s %9.0f MB/s\n", "jq", median(jq))
		}
		checkBound(b, "of the decoder's time", ratio(slow, fast), 0.1)
		b.ReportMetric(ratio(fast, slow), "x-decoder")
	}
}
