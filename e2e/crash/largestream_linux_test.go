package crash

// This file tests streams of hundreds of megabytes: wavex must write them to disk, find the few
// important lines, and stay small itself. The agent is this test binary, which prints as fast as
// it can.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/proc/proctest"
)

// peakLimit bounds the memory of wavex, in bytes (the peak of its resident set).
const peakLimit = 64 << 20

// bulkVar, in the environment, makes the test binary an agent that prints a stream.
const bulkVar = "CLAUDE_CRASH_BULK"

// largeStreams returns the streams by name, each as the function that writes it.
func largeStreams() map[string]func(w *bufio.Writer) {
	return map[string]func(w *bufio.Writer){
		// Two hundred megabytes of ordinary responses and tool results, each with an id. By the
		// price table the responses cost $1.50, as in every result line.
		"many": func(w *bufio.Writer) {
			text := strings.Repeat("0123456789abcdef", 120)
			for i := range 50_000 {
				fmt.Fprintf(w, `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"%s"},{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"true"}}],"usage":{"input_tokens":1,"output_tokens":1}},"session_id":"s"}`+"\n", i, text, i)
				fmt.Fprintf(w, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]},"session_id":"s"}`+"\n", i, text)
			}
		},
		// Lines of fifty megabytes: a tool's result, a response, an unknown type, noise.
		"long": func(w *bufio.Writer) {
			for _, ends := range [][2]string{
				{`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"`, `"}]}}`},
				{`{"type":"assistant","message":{"id":"msg_1","model":"claude-opus-4-8","content":[{"type":"text","text":"`,
					`"}],"usage":{"input_tokens":1,"output_tokens":1}}}`},
				{`{"subtype":"of another order","text":"`, `","type":"system"}`},
				{`no JSON at all `, ``},
			} {
				writeLongLine(w, ends[0], 50<<20, ends[1])
			}
		},
		// One line of two hundred megabytes.
		"one": func(w *bufio.Writer) {
			writeLongLine(w, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"`,
				200<<20, `"}]}}`)
		},
		// A result line that is itself fifty megabytes long.
		"result": func(w *bufio.Writer) {
			writeLongLine(w, `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"total_cost_usd":1.5,"session_id":"s","result":"`, 50<<20, `"}`)
		},
	}
}

// writeLongLine writes one line with n bytes between its ends.
func writeLongLine(w *bufio.Writer, head string, n int, tail string) {
	_, _ = w.WriteString(head)
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	for ; n > 0; n -= len(chunk) {
		_, _ = w.Write(chunk[:min(n, len(chunk))])
	}
	_, _ = w.WriteString(tail + "\n")
}

// bulkAgent runs such an agent: a prompt, a stream, a result.
func bulkAgent(in io.Reader, out io.Writer) int {
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	what := os.Getenv(bulkVar)
	w := bufio.NewWriterSize(out, 256<<10)
	_, _ = w.WriteString(`{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-4-8","claude_code_version":"2.1.197"}` + "\n")
	largeStreams()[what](w)
	if what != "result" {
		_, _ = w.WriteString(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ok","total_cost_usd":1.5,"session_id":"s"}` + "\n")
	}
	if w.Flush() != nil {
		return 1
	}
	return 0
}

func TestBulkyStreams(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int64{"many": 200 << 20, "long": 200 << 20, "one": 200 << 20, "result": 50 << 20} {
		t.Run(name, func(t *testing.T) {
			// Not parallel, because a gigabyte of streams would be on the disk at once.
			p := newProject(t, `{"version": 1, "budget": {"usd": 5}, "tasks": [{"id": "a", "subject": "a", "verify": ["true"]}]}`)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cli := filepath.Join(t.TempDir(), "claude")
			script := fmt.Sprintf(
				"#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.1.197 (Claude Code)'; exit; fi\n%s=%s exec '%s'\n",
				bulkVar, name, self)
			proctest.Script(t, cli, script)
			w := p.Start([]string{"WAVEX_CLAUDE=" + cli, "ANTHROPIC_API_KEY=none"}, "run", "plan.json", "--counsel",
				"off", "--plain")
			peak := peak(w)
			e := w.End()
			e.MustSay(t, 0)
			if peak == 0 || peak > peakLimit {
				t.Errorf("wavex's peak resident set is %d MB, the limit %d MB", peak>>20, peakLimit>>20)
			}
			t.Logf("peak %.1f MB", float64(peak)/(1<<20))
			streams, _ := filepath.Glob(filepath.Join(p.Loop(), "runs", "*", "tasks", "a", "attempt-1", "stream.jsonl"))
			if len(streams) != 1 {
				t.Fatalf("streams: %q", streams)
			}
			if info, err := os.Stat(streams[0]); err != nil || info.Size() < least {
				t.Errorf("the stream on disk: %v, %v; want at least %d bytes", info, err, least)
			}
			if _, end := scratch.LastRun(p.Events()); end == nil || end.Cost != 1_500_000 {
				t.Errorf("the run ended as %+v, want a cost of $1.50", end)
			}
		})
	}
}

// peak returns the peak of the resident set of the process in bytes, as counted by the kernel
// (VmHWM, which only grows), read until the process has ended.
func peak(w *scratch.Process) (highest int64) {
	ctx, cancel := context.WithTimeout(w.T.Context(), scratch.Limit)
	defer cancel()
	rig.Until(ctx, func() bool {
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Cmd.Process.Pid)); err == nil {
			for line := range strings.Lines(string(data)) {
				if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
					kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
					highest = max(highest, kb<<10)
				}
			}
		}
		select {
		case <-w.Over:
			return true
		default:
			return false
		}
	})
	return highest
}
