package probe

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/claude/statement"
)

// probeTurns runs two turns in one process like an attempt: tools with and without a rule, and a plain answer.
func (b *prober) probeTurns(ctx context.Context) error {
	t, err := b.start(ctx, "--permission-mode", "acceptEdits", "--include-partial-messages",
		"--settings", `{"permissions":{"allow":["Bash(`+allowedCommand+`)"]}}`)
	if err != nil {
		return err
	}
	defer t.stop()
	first, err := t.turn(ctx, toolTurn.prompt())
	if t.bare {
		b.decide(statement.Denied, false, statement.BareAdvice)
	}
	if err != nil {
		return err
	}
	if len(b.api.Messages(toolTurn.matches)) == 0 {
		return errNoRequest
	}
	b.checkTools(first)
	known := b.hasKnownPrice(toolTurn)
	if known {
		b.checkCosts(first, toolCost, toolCost)
	}
	b.checkPartialUsage(t.finals)
	last, err := t.turn(ctx, plainTurn.prompt())
	if err == nil && known {
		b.checkCosts(last, toolCost+plainCost, plainCost)
	}
	return err
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
func (b *prober) checkPartialUsage(got []int64) {
	want := append(slices.Repeat([]int64{toolUse.Output}, toolCalls), wordsUse.Output)
	if len(b.api.Messages(toolTurn.matches)) != len(want) {
		return
	}
	b.decide(statement.PartialUsage, slices.Equal(got, want),
		"output tokens of six responses: %v instead of %v", got, want)
}

// probeCap runs a turn that would exceed its cap, in a process started like that of an expert.
func (b *prober) probeCap(ctx context.Context) error {
	t, err := b.start(ctx, "--tools", "Read,Edit", "--disallowedTools", "Edit", "--system-prompt", "Answer with one word.",
		"--max-budget-usd", strconv.FormatFloat(capUSD.Float(), 'f', -1, 64))
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
