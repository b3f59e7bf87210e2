package probe

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/claude/statement"
	"wavex/internal/fakeapi"
)

// probeTurns runs three turns in one process like an attempt: tools with and without a rule, a plain
// answer, and a turn that is interrupted.
func (b *prober) probeTurns(ctx context.Context) error {
	t, err := b.start("--session-id", b.session, "--permission-mode", "acceptEdits",
		"--settings", settings("Bash("+allowedCommand+")"),
		"--strict-mcp-config", "--include-partial-messages")
	if err != nil {
		return err
	}
	defer t.stop()
	first, err := t.turn(ctx, toolTurn.prompt())
	if errors.Is(err, ErrEnded) && len(b.api.Messages(toolTurn.matches)) == toolCalls+1 {
		b.decide(statement.OneResult, false, "the process ended its turn without a result")
	}
	if err != nil {
		return err
	}
	if len(b.api.Messages(toolTurn.matches)) == 0 {
		return errNoRequest
	}
	b.checkInit(t)
	b.checkTools(first)
	known := b.hasKnownPrice(toolTurn)
	if known {
		b.checkCosts(first, toolCost, toolCost)
	}
	b.checkPartialUsage(t)
	if err := b.probeInterrupt(ctx, t, known); err != nil {
		return err
	}
	// This turn is last, because a process whose last turn was interrupted exits with status 1.
	last, err := t.turn(ctx, plainTurn.prompt())
	if err != nil {
		return err
	}
	if known {
		b.checkCosts(last, toolCost+stopCost+plainCost, plainCost)
	}
	exit, err := t.end(ctx)
	if err != nil {
		return err
	}
	b.decide(statement.EndsWithStdin, exit.Code == 0, "exit status %d", exit.Code)
	n := len(slices.DeleteFunc(slices.Clone(t.received), func(l line) bool { return !isResult(l) }))
	b.decide(statement.OneResult, n == 3, "%d results of 3 turns", n)
	b.workCost = toolCost + stopCost + plainCost
	return nil
}

// checkInit checks the init line.
func (b *prober) checkInit(t *cliProcess) {
	for _, l := range t.received {
		if l.Type != "system" || l.Subtype != "init" {
			continue
		}
		if l.Session != b.session { // another probe checks that a second use is refused
			b.decide(statement.SessionID, false, "the init line names session %s instead of %s", l.Session, b.session)
			b.session = l.Session // the one that can be resumed
		}
		foreign := slices.ContainsFunc(l.Servers, func(n serverInfo) bool { return n.Name == mcpServer })
		b.decide(statement.StrictMCP, !foreign, "a server of the user's configuration is started")
	}
}

// checkTools checks the effects of toolTurn.
func (b *prober) checkTools(result line) {
	asked := b.api.Messages(toolTurn.matches)
	denied := func(call int) bool { // the tool call in the answer to that request
		return call < len(asked) &&
			slices.ContainsFunc(result.Denials, func(d denial) bool { return d.Tool == asked[call].ToolID(0) })
	}
	if ran := b.sandbox.exists("ran-allowed"); ran || denied(0) {
		b.decide(statement.AllowRules, ran, "%q was denied in spite of its rule", allowedCommand)
	}
	if wrote := b.sandbox.exists("written.txt"); wrote || denied(3) {
		b.decide(statement.AcceptEdits, wrote, "writing a file in the working directory was denied")
	}
	answered := len(asked) - 1 // number of tool calls whose result was sent back
	for _, c := range []struct {
		call int
		what string
		done bool
	}{
		{1, longerCommand, b.sandbox.exists("ran-allowedmore")},
		{2, otherCommand, b.sandbox.exists("ran-other")},
		{4, "writing outside of the working directory", pathExists(filepath.Join(b.sandbox.outside, "written.txt"))},
	} {
		if c.call >= answered && !c.done {
			continue // it was not called
		}
		b.decide(statement.Denied, !c.done, "%s was carried out, and nothing allowed it", c.what)
		if !c.done {
			b.decide(statement.DenialsReported, denied(c.call), "permission_denials lacks: %s", c.what)
		}
	}
}

// hasKnownPrice reports whether the turn used the model that the CLI was started with. Prices of other
// models are not known here.
func (b *prober) hasKnownPrice(n scriptedTurn) bool {
	asked := b.api.Messages(n.matches)
	return len(asked) > 0 && strings.HasPrefix(asked[0].Model(), model)
}

// checkCosts compares a result with the charges of the session and of the turn.
func (b *prober) checkCosts(l line, total, turn budget.USD) {
	b.decide(statement.TotalCost, l.total() == total,
		"total_cost_usd is %s after %s was charged", dollars(l.total()), dollars(total))
	b.checkTurnCost(l, turn)
}

func (b *prober) checkTurnCost(l line, turn budget.USD) {
	b.decide(statement.TurnCost, l.turn() == turn,
		"model_usage_since_last_result is %s after %s was charged", dollars(l.turn()), dollars(turn))
}

func dollars(u budget.USD) string {
	if u < 0 {
		return "missing"
	}
	return "$" + strconv.FormatFloat(u.Float(), 'f', 6, 64)
}

// checkPartialUsage compares the token counts of the responses of toolTurn.
func (b *prober) checkPartialUsage(t *cliProcess) {
	var got []int64
	for _, l := range t.received {
		if l.Type == "stream_event" && l.Event.Type == "message_delta" {
			got = append(got, l.Event.Usage.Output)
		}
	}
	want := append(slices.Repeat([]int64{toolUse.Output}, toolCalls), wordsUse.Output)
	if len(b.api.Messages(toolTurn.matches)) != len(want) {
		return
	}
	b.decide(statement.PartialUsage, slices.Equal(got, want),
		"output tokens of six responses: %v instead of %v", got, want)
}

// probeInterrupt runs a turn that gets one response, and interrupts it while it waits for the next.
func (b *prober) probeInterrupt(ctx context.Context, t *cliProcess, known bool) error {
	waits := func(r *fakeapi.Request) bool { return interruptedTurn.matches(r) && len(r.ToolResults()) > 0 }
	_, err := b.runTurn(ctx, t, interruptedTurn.prompt(), waits)
	if errors.Is(err, errNoRequest) {
		b.decide(statement.OneResult, false, "another result came after the result of a turn")
	}
	if err != nil {
		return err
	}
	if err := t.control("probe-stop", "interrupt"); err != nil {
		return err
	}
	result, err := t.await(ctx, isResult)
	if err == nil || errors.Is(err, ErrEnded) {
		b.decide(statement.Interrupt, err == nil, "the process ended without a result")
	}
	if err != nil {
		return err
	}
	if total := toolCost + stopCost; known {
		b.decide(statement.InterruptedCost, result.total() == total || result.turn() == stopCost,
			"total_cost_usd is %s after %s was charged", dollars(result.total()), dollars(total))
		b.checkTurnCost(result, stopCost)
	}
	return nil
}

// probeResume continues the session of work in another process, with a cap below the cost of the
// session so far.
func (b *prober) probeResume(ctx context.Context) error {
	if b.workCost == 0 {
		return nil // work did not finish, and has reported why
	}
	t, err := b.start("--resume", b.session, "--permission-mode", "acceptEdits", "--strict-mcp-config",
		"--max-budget-usd", usd(capUSD))
	if err != nil {
		return err
	}
	defer t.stop()
	l, err := t.turn(ctx, resumedTurn.prompt())
	if err != nil {
		return err
	}
	asked := b.api.Messages(resumedTurn.matches)
	if len(asked) == 0 {
		b.decide(statement.Resume, false, "the resumed process ended its turn as %s", l.Subtype)
		return nil
	}
	b.decide(statement.Resume, strings.Contains(asked[0].Users(), toolTurn.prompt()), "what was said before is missing")
	if b.hasKnownPrice(resumedTurn) {
		cost := budget.USD(len(asked)) * cappedCost
		b.decide(statement.ResumedTotal, l.total() == cost,
			"total_cost_usd is %s after the process was charged %s", dollars(l.total()), dollars(cost))
		b.checkTurnCost(l, cost)
		b.decide(statement.ResumedCap, len(asked) == 2, "%d responses where the cap allows 2", len(asked))
	}
	return nil
}

// probeCap runs a turn that would exceed its cap, in a process started like that of an expert.
func (b *prober) probeCap(ctx context.Context) error {
	t, err := b.start("--tools", "Read,Edit", "--disallowedTools", "Edit",
		"--no-session-persistence", "--strict-mcp-config", "--system-prompt", "Answer with one word.", "--max-budget-usd",
		usd(capUSD))
	if err != nil {
		return err
	}
	defer t.stop()
	l, err := t.turn(ctx, cappedTurn.prompt())
	if err != nil {
		return err
	}
	asked := b.api.Messages(cappedTurn.matches)
	if len(asked) == 0 {
		return errNoRequest
	}
	offered := asked[0].Tools()
	others := slices.ContainsFunc(offered, func(name string) bool { return name != "Read" && name != "Edit" })
	b.decide(statement.ToolsLimited, slices.Contains(offered, "Read") && !others,
		"with --tools Read the model is offered %v", offered)
	b.decide(statement.DisallowedTools, !asked[0].Offers("Edit"),
		"the model is offered a tool that --disallowedTools names")
	switch n := len(asked); {
	case n == 2 && strings.Contains(l.Subtype, "budget"):
		b.decide(statement.Cap, true, "")
	case n > 2 && l.total() > capUSD: // it knew its cost
		b.decide(statement.Cap, false, "%d responses at %s each under a cap of %s", n, dollars(cappedCost), dollars(capUSD))
	}
	return nil
}

func usd(u budget.USD) string { return strconv.FormatFloat(u.Float(), 'f', -1, 64) }
