package statement

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/claude"
)

// probeTurns runs two turns in one process like an attempt: tools that nothing allows, and a plain answer.
func (b *prober) probeTurns(ctx context.Context) error {
	t, err := b.start(ctx, "--permission-mode", "acceptEdits", "--include-partial-messages",
		"--settings", `{"permissions":{"allow":["Bash(`+allowedCommand+`)"]}}`)
	if err != nil {
		return err
	}
	defer t.stop()
	first, err := t.turn(ctx, toolTurn.prompt())
	if t.bare {
		b.decide(Denied, false, claude.BareAdvice)
	}
	if err != nil {
		return err
	}
	if len(b.api.Messages(toolTurn.matches)) == 0 {
		return errNoRequest
	}
	b.checkTools()
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
func (b *prober) checkTools() {
	asked := b.api.Messages(toolTurn.matches)
	answered := len(asked) - 1 // number of tool calls whose result was sent back
	for _, c := range []struct {
		call int
		what string
		done bool
	}{
		{0, longerCommand, b.sandbox.exists("ran-allowedmore")},
		{1, otherCommand, b.sandbox.exists("ran-other")},
		{2, "writing outside of the working directory", pathExists(filepath.Join(b.sandbox.outside, "written.txt"))},
	} {
		if c.call >= answered && !c.done {
			continue // it was not called
		}
		b.decide(Denied, !c.done, "%s was carried out, and nothing allowed it", c.what)
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
	b.decide(TotalCost, l.total() == total,
		"total_cost_usd is %s after %s was charged", dollars(l.total()), dollars(total))
	b.decide(TurnCost, l.turn() == turn,
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
	b.decide(PartialUsage, slices.Equal(got, want),
		"output tokens of the responses: %v instead of %v", got, want)
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
	b.decide(DisallowedTools, !asked[0].Offers("Edit"),
		"the model is offered a tool that --disallowedTools names")
	switch n := len(asked); {
	case n == 2 && strings.Contains(l.Get("subtype").Text(), "budget"):
		b.decide(Cap, true, "")
	case n > 2 && l.total() > capUSD: // it knew its cost
		b.decide(Cap, false, "%d responses at %s each under a cap of %s", n, dollars(cappedCost), dollars(capUSD))
	}
	return nil
}
