package probe

import (
	"context"
	"errors"
	"strings"

	"wavex/internal/claude/statement"
)

// probeSessionID opens a session with the id of an existing one.
func (b *prober) probeSessionID(ctx context.Context) error {
	if b.workCost == 0 {
		return nil
	}
	t, err := b.start("--session-id", b.session)
	if err != nil {
		return err
	}
	defer t.stop()
	r, err := b.runTurn(ctx, t, sessionIDTurn.prompt(), sessionIDTurn.matches)
	switch {
	case r != nil:
		b.decide(statement.SessionID, false, "a session id that is in use is taken again")
	case errors.Is(err, ErrEnded) && strings.Contains(err.Error(), "already in use"):
		b.decide(statement.SessionID, true, "")
		return nil
	}
	return err
}

// probeSchema asks for an answer that matches a JSON schema.
func (b *prober) probeSchema(ctx context.Context) error {
	const shape = `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`
	t, err := b.start("--tools", "", "--no-session-persistence", "--strict-mcp-config",
		"--system-prompt", "Answer.", "--json-schema", shape)
	if err != nil {
		return err
	}
	defer t.stop()
	l, err := t.turn(ctx, schemaTurn.prompt())
	if err != nil {
		return err
	}
	if len(b.api.Messages(schemaTurn.matches)) == 0 {
		return errNoRequest
	}
	b.decide(statement.JSONSchema, string(l.Answer) == `{"word":"yes"}`, "structured_output is %q", l.Answer)
	return nil
}

// probeTaskTools looks for the Task tools on the CLI's default model, and ends the process with SIGTERM
// while it waits for the API.
func (b *prober) probeTaskTools(ctx context.Context) error {
	env := []string{"CLAUDE_CODE_TASK_LIST_ID=wavex-probe", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}
	t, err := b.startWith(env, "--strict-mcp-config")
	if err != nil {
		return err
	}
	defer t.stop()
	r, err := b.runTurn(ctx, t, taskTurn.prompt(), taskTurn.matches)
	if err != nil {
		return err
	}
	for _, tool := range []string{"TaskCreate", "TaskUpdate", "TaskList"} {
		b.decide(statement.TaskTools, r.Offers(tool), "%s is not offered to %s", tool, r.Model())
	}
	if err := t.p.Terminate(); err != nil {
		return err
	}
	exit, err := t.waitExit(ctx)
	if err == nil {
		b.decide(statement.EndsOnTerm, exit.Code == 143 || exit.Signal == "SIGTERM", "exit status %d", exit.Code)
	}
	return err
}
