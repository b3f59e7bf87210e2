//go:build unix

package e2e

// This file is a program between wavex and the CLI that breaks one statement. A script starts this
// test binary again as the liar. The liar starts the CLI, and changes its arguments or the lines
// between the two.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/testrepo"
)

// The environment variables of a liar: the name of its lie, and the path of the CLI.
const (
	lieVar   = "WAVEX_E2E_LIE"
	lieAbout = "WAVEX_E2E_LIE_ABOUT"
)

// object is a decoded line of the CLI's protocol.
type object = map[string]any

// lie is one fault of a liar. The zero value changes nothing.
type lie struct {
	args  func(args []string) []string
	said  func(l *liar, line object) []object // returns the replacement of a line of the CLI
	heard func(line object) bool              // reports whether the CLI gets a line of wavex
	deaf  bool                                // SIGTERM ends neither the liar nor the CLI
}

// liesByName holds all lies.
var liesByName = map[string]lie{
	"zero cost":            {said: ofResults(scaled(0))},
	"half cost":            {said: ofResults(scaled(0.5))},
	"cumulative cost":      {said: cumulative},
	"no turn cost":         {said: ofResults(func(r object) { delete(r, turnCost) })},
	"half turn cost":       {said: ofResults(func(r object) { scale(r[turnCost], 0.5) })},
	"no cap":               {args: without("--max-budget-usd")},
	"denied allowed":       {args: func(a []string) []string { return append(a, "--allowedTools", "Bash", "Write") }},
	"disallowed stays":     {args: without("--disallowedTools")},
	"other tools":          {args: without("--tools")},
	"no denials":           {said: ofResults(func(r object) { r["permission_denials"] = []any{} })},
	"no final usage":       {said: unfinished},
	"late result":          {said: late},
	"two results":          {said: twice},
	"no result":            {said: missing},
	"no interrupt":         {heard: notInterrupt},
	"nothing stops it":     {heard: notInterrupt, deaf: true},
	"another session":      {args: without("--session-id")},
	"no structured answer": {said: ofResults(func(r object) { delete(r, "structured_output") })},
}

// liar is the state of a liar process.
type liar struct {
	lie     lie
	args    []string // of the CLI
	stdin   io.Closer
	results []object // held back
}

// lying returns the CLI with a lie.
func (c cli) lying(t *testing.T, name string) cli {
	t.Helper()
	if _, known := liesByName[name]; !known {
		t.Fatalf("there is no lie %q", name)
	}
	self, err := os.Executable()
	testrepo.Must(t, err)
	c.name, c.path = name, executable(t, fmt.Sprintf("#!/bin/sh\n%s='%s' %s='%s' exec '%s' \"$@\"\n",
		lieVar, name, lieAbout, c.path, self)).path
	return c
}

// beLiar is the liar's main function. It returns the exit status.
func beLiar(name, path string, args []string) int {
	l := &liar{lie: liesByName[name], args: args}
	if l.lie.args != nil {
		l.args = l.lie.args(slices.Clone(args))
	}
	code, err := l.run(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "liar:", err)
		return 70
	}
	return code
}

func (l *liar) run(path string) (int, error) {
	cmd := exec.Command(path, l.args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: l.lie.deaf}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	l.stdin = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	// The CLI gets the signals too, as a member of the process group. The liar ends after it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { // it ends with the liar
		_ = eachLine(os.Stdin, func(raw []byte, line object) error {
			if line != nil && l.lie.heard != nil && !l.lie.heard(line) {
				return nil
			}
			_, err := in.Write(raw)
			return err
		})
		_ = in.Close() // the CLI may have ended
	}()
	if err := eachLine(out, l.pass); err != nil {
		return 0, err
	}
	for _, r := range l.results {
		if err := printed(r); err != nil {
			return 0, err
		}
	}
	_ = cmd.Wait() // the exit status follows
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// pass prints a line of the CLI, changed by the lie.
func (l *liar) pass(raw []byte, line object) error {
	if line == nil || l.lie.said == nil {
		_, err := os.Stdout.Write(raw)
		return err
	}
	for _, said := range l.lie.said(l, line) {
		if err := printed(said); err != nil {
			return err
		}
	}
	return nil
}

func printed(line object) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(data, '\n'))
	return err
}

// eachLine calls f with each line and its decoded object; the object is nil if it is not JSON.
func eachLine(r io.Reader, f func(raw []byte, line object) error) error {
	for in := bufio.NewReader(r); ; {
		raw, err := in.ReadBytes('\n')
		if len(raw) > 0 {
			var line object
			_ = json.Unmarshal(raw, &line) // nil
			if err := f(raw, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// without returns a function that removes a flag with its values.
func without(flag string) func([]string) []string {
	return func(args []string) (kept []string) {
		dropped := false
		for _, a := range args {
			if strings.HasPrefix(a, "--") {
				dropped = a == flag
			}
			if !dropped {
				kept = append(kept, a)
			}
		}
		return kept
	}
}

func notInterrupt(line object) bool {
	request, _ := line["request"].(object)
	return request["subtype"] != "interrupt"
}

func isResult(line object) bool { return line["type"] == "result" }

// ofResults returns a function that changes only result lines.
func ofResults(change func(object)) func(*liar, object) []object {
	return func(_ *liar, line object) []object {
		if isResult(line) {
			change(line)
		}
		return []object{line}
	}
}

// turnCost is the field of a result with the cost of its turn, by model.
const turnCost = "model_usage_since_last_result"

// scaled returns a function that multiplies every cost in a result.
func scaled(by float64) func(object) {
	return func(r object) {
		total, _ := r["total_cost_usd"].(float64)
		r["total_cost_usd"] = total * by
		scale(r["modelUsage"], by)
		scale(r[turnCost], by)
	}
}

// scale multiplies the costs of models.
func scale(models any, by float64) {
	all, _ := models.(object)
	for _, m := range all {
		if one, _ := m.(object); one != nil {
			cost, _ := one["costUSD"].(float64)
			one["costUSD"] = cost * by
		}
	}
}

// cumulative replaces the cost of a turn by the cost of its session. If the CLI does not report the
// cost of a turn, cumulative adds the earlier cost of the session to the total of the process.
func cumulative(l *liar, line object) []object {
	if line[turnCost] != nil {
		line[turnCost] = line["modelUsage"]
		return []object{line}
	}
	of := line
	if !isResult(line) { // an answer to get_usage?
		outer, _ := line["response"].(object)
		inner, _ := outer["response"].(object)
		of, _ = inner["session"].(object)
	}
	if total, ok := of["total_cost_usd"].(float64); ok {
		of["total_cost_usd"] = total + l.brought()
	}
	if isResult(line) {
		id, _ := line["session_id"].(string)
		_ = os.WriteFile(totalFile(id), []byte(fmt.Sprint(line["total_cost_usd"])), 0o600) // read by brought
	}
	return []object{line}
}

// brought returns the total of the session that the CLI resumes.
func (l *liar) brought() float64 {
	i := slices.Index(l.args, "--resume")
	if i < 0 {
		return 0
	}
	data, _ := os.ReadFile(totalFile(l.args[i+1]))
	total, _ := strconv.ParseFloat(string(data), 64) // 0: it has not been told
	return total
}

func totalFile(session string) string {
	return filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "total-"+session)
}

// unfinished removes the final usage of each response.
func unfinished(_ *liar, line object) []object {
	if event, _ := line["event"].(object); event["type"] == "message_delta" {
		return nil
	}
	return []object{line}
}

// late holds results back until the CLI ends.
func late(l *liar, line object) []object {
	if isResult(line) {
		l.results = append(l.results, line)
		return nil
	}
	return []object{line}
}

// twice repeats each result.
func twice(_ *liar, line object) []object {
	if isResult(line) {
		return []object{line, line}
	}
	return []object{line}
}

// missing removes the result and ends the CLI.
func missing(l *liar, line object) []object {
	if isResult(line) {
		_ = l.stdin.Close() // it may be closed
		return nil
	}
	return []object{line}
}
