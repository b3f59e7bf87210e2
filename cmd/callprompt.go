package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"

	"wavex/internal/question"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
	"wavex/runner"
)

// This file asks the person at the terminal about tool calls, and keeps the patterns that the person allows for good.

// isAttended reports whether a person at a terminal can be asked, and did not say that nothing is to be asked.
func (r *invocation) isAttended() bool {
	return !r.opts.yes && r.opts.output == "text" && canPrompt(r.std)
}

// decidesCalls reports whether a person at the terminal is asked about tool calls.
func (r *invocation) decidesCalls() bool {
	if !r.isAttended() {
		return false
	}
	for i := range r.plan.Tasks {
		if len(r.plan.Settings(i).PolicyAsk) > 0 {
			return true
		}
	}
	return len(r.config.Policy.Ask) > 0
}

// callPrompter returns the person who decides on tool calls, or nil.
func (r *invocation) callPrompter(view ui.View) question.Terminal {
	if !r.decidesCalls() {
		return nil
	}
	return askCall(r.terminalPrompter(), view)
}

// askCall returns a Terminal whose questions appear in the view.
func askCall(p *prompter, view ui.View) question.Terminal {
	return func(ctx context.Context, q question.Question) (question.Choice, error) {
		if p.turn.Acquire(ctx, 1) != nil {
			return "", context.Cause(ctx)
		}
		defer p.turn.Release(1)
		prompt := fmt.Sprintf("\nTask %s asks for a call of %s: %s\n(the policy asks about %s until %s)\n"+
			"[o]nce, in this [r]un, [a]lways, [N]o? ", textfmt.Line(q.Task), textfmt.Line(q.Tool), textfmt.Line(q.Target),
			textfmt.Line(q.Pattern), q.Deadline.Local().Format("15:04:05"))
		view.Observe(runner.Observation{Task: q.Task, Attempt: q.Attempt, Kind: "asked", Text: prompt})
		defer view.Observe(runner.Observation{Task: q.Task, Attempt: q.Attempt, Kind: "answered"})
		answer, err := p.awaitWord(ctx, prompt, "no", "once", "run", "always", "no")
		var a *question.AnsweredError
		if errors.As(err, &a) {
			fmt.Fprintln(p.out, textfmt.Line(a.Error()))
		}
		return question.Choice(answer), err
	}
}

// allowAlways adds a pattern to policy.allow of the user's settings file.
func (r *invocation) allowAlways(pattern string) {
	path := userSettings()
	if err := addAllowed(path, pattern, r.opts.known()); err != nil {
		fmt.Fprintf(r.std.Err, "wavex: warning: %s: %v\nto allow %s for good, add it to policy.allow there\n", path, err,
			textfmt.Line(pattern))
	}
}

// addAllowed adds a pattern to policy.allow of a settings file. The rest of the file stays as it is, with its
// permissions and a link to it. A file that would have a mistake then stays as a whole. known are the flags that
// settings files may set.
func addAllowed(path, pattern string, known *pflag.FlagSet) error {
	if path == "" {
		return errors.New("there is no home directory")
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	perm := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	text, err := safefile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	changed, err := withAllowed(string(text), pattern)
	if err != nil {
		return err
	}
	file := settingsFile{path: path, known: known}
	values, err := file.parse(changed)
	if err == nil && !slices.Contains(values["policy-allow"].values, pattern) {
		err = errors.New("policy.allow cannot be found")
	}
	if err != nil {
		return fmt.Errorf("adding to it is not possible: %w", err)
	}
	return safefile.Replace(path, []byte(changed), perm, true)
}

// withAllowed returns the text of a settings file with one more pattern in policy.allow.
func withAllowed(text, pattern string) (string, error) {
	file, err := parser.ParseBytes([]byte(text), parser.ParseComments)
	if err != nil {
		return "", err
	}
	item := "'" + strings.ReplaceAll(pattern, "'", "''") + "'"
	var policy, allow *ast.MappingValueNode
	for _, doc := range file.Docs {
		if policy = valueOf(doc.Body, "policy"); policy != nil {
			allow = valueOf(policy.Value, "allow")
		}
	}
	lines := strings.SplitAfter(text, "\n")
	insert := func(after int, line string) (string, error) {
		if n := after - 1; n >= 0 && lines[n] != "" && !strings.HasSuffix(lines[n], "\n") {
			lines[n] += "\n"
		}
		return strings.Join(lines[:after], "") + line + strings.Join(lines[after:], ""), nil
	}
	switch {
	case policy == nil:
		return insert(len(lines), "policy:\n  allow: ["+item+"]\n")
	case allow != nil:
		list, is := allow.Value.(*ast.SequenceNode)
		if !is || !list.IsFlowStyle && len(list.Values) == 0 {
			return "", errors.New("policy.allow is no list")
		}
		if list.IsFlowStyle {
			comma := map[bool]string{true: ", "}[len(list.Values) > 0]
			return afterToken(lines, list.Start.Position.Line, list.Start.Position.Column, item+comma), nil
		}
		at := list.Start.Position
		return insert(at.Line-1, strings.Repeat(" ", at.Column-1)+"- "+item+"\n")
	}
	block, is := policy.Value.(*ast.MappingNode)
	if !is {
		return "", errors.New("policy has no fields")
	}
	at := block.Start.Position
	if block.IsFlowStyle {
		comma := map[bool]string{true: ","}[len(block.Values) > 0]
		return afterToken(lines, at.Line, at.Column, " allow: ["+item+"]"+comma), nil
	}
	first := block.Values[0].Key.GetToken().Position
	return insert(first.Line-1, strings.Repeat(" ", first.Column-1)+"allow: ["+item+"]\n")
}

// afterToken inserts text behind the token of one character at a line and a column.
func afterToken(lines []string, line, column int, text string) string {
	l := []rune(lines[line-1])
	lines[line-1] = string(l[:column]) + text + string(l[column:])
	return strings.Join(lines, "")
}

// valueOf returns the entry of a mapping, or nil.
func valueOf(n ast.Node, key string) *ast.MappingValueNode {
	m, is := n.(ast.MapNode)
	if !is {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		if it.Key().String() == key {
			return it.KeyValue()
		}
	}
	return nil
}
