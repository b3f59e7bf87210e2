//go:build unix

package e2e

// This file tests the endings of the CLI that wavex's classification depends on. Each is provoked
// once, with the exit code and the last line observed on claude 2.1.330.

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// The CLI checks the cap after each response: the run overshoots by at most one response.
func TestMaxBudgetOvershootsByOneResponse(t *testing.T) {
	t.Parallel()
	eachCLI(t, maxBudgetOvershoots)
}

func maxBudgetOvershoots(t *testing.T, c cli) {
	use := fakeapi.Usage{Input: 9_000, Output: 200} // 0.030 dollars
	srv := serve(t, fakeapi.Use(fakeapi.Bash("pwd")).WithUsage(use).Times(2))
	e := call(t, srv, setup{cli: c, stdin: "go", args: []string{"--max-budget-usd", "0.05"}})
	r := e.result(t)
	if e.exit != 1 || r.Subtype != "error_max_budget_usd" || !r.IsError || len(r.Errors) == 0 {
		t.Errorf("exit %d, %s, is_error %v, errors %q", e.exit, r.Subtype, r.IsError, r.Errors)
	}
	if got := budget.FromFloat(r.TotalCostUSD); got != 60_000 || got != srv.Charged() {
		t.Errorf("cost %s, the API charged %s, want $0.06", got, srv.Charged())
	}
	var raw struct {
		Usage struct {
			Input int64 `json:"input_tokens"`
		} `json:"usage"`
		ModelUsage map[string]struct {
			Input int64 `json:"inputTokens"`
		} `json:"modelUsage"`
	}
	testrepo.Must(t, json.Unmarshal(e.of("result", "")[0].raw, &raw))
	// usage lacks the response that broke the cap; modelUsage has it.
	if raw.Usage.Input != 9_000 || raw.ModelUsage[model].Input != 18_000 {
		t.Errorf("usage %+v, want usage without the last response and the true modelUsage", raw)
	}
}

func TestEmptyOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		s    setup
		says string
	}{
		{"no prompt", setup{}, "Input must be provided"},
		{"unknown flag", setup{stdin: "go", args: []string{"--no-such-flag"}}, "unknown option"},
		{"unknown session", setup{stdin: "go", args: []string{"--resume", "00000000-0000-4000-8000-000000000000"}},
			"No conversation found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := call(t, serve(t), c.s)
			if e.exit != 1 || len(e.of("result", "success")) > 0 || !strings.Contains(e.stderr+e.plain, c.says) {
				t.Errorf("exit %d, %d lines, stdout %q, stderr %q", e.exit, len(e.lines), e.plain, e.stderr)
			}
		})
	}
}

func TestBypassIsRefusedAsRoot(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	e := call(t, srv, setup{stdin: "go", args: []string{"--dangerously-skip-permissions"}})
	if os.Geteuid() == 0 && (e.exit != 1 || len(e.lines) != 0 || !strings.Contains(e.stderr+e.plain, "root")) {
		t.Errorf("exit %d, stdout %q, stderr %q", e.exit, e.plain, e.stderr)
	}
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"verdict": "yes"})))
	e := call(t, srv, setup{stdin: "go", args: []string{"--tools", "", "--system-prompt", "You judge.", "--json-schema",
		`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"],"additionalProperties":false}`}})
	if r := e.result(t); e.exit != 0 || string(r.StructuredOutput) != `{"verdict":"yes"}` {
		t.Errorf("exit %d, structured_output %s", e.exit, r.StructuredOutput)
	}
	// A lean call is small: without an agent's prompt, and with this tool only.
	if first := srv.Messages(nil)[0]; len(first.Body) > 4096 ||
		!slices.Equal(first.Tools(), []string{"StructuredOutput"}) {
		t.Errorf("%d bytes, tools %v", len(first.Body), first.Tools())
	}
}

// A connection that breaks in the middle of an answer is retried.
func TestCutMidStream(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Text("lost words, never to be seen").CutAfter(3), fakeapi.Text("whole"))
	e := call(t, srv, setup{stdin: "go"})
	if r := e.result(t); e.exit != 0 || r.Result != "whole" {
		t.Errorf("exit %d, %+v", e.exit, r)
	}
}
