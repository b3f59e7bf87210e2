package statement

import "slices"

// These are the statements: at most eight, about money and permission.
const (
	TurnCost        ID = "turn-cost"
	TotalCost       ID = "total-cost"
	PartialUsage    ID = "partial-usage"
	Cap             ID = "cap"
	Denied          ID = "denied"
	DisallowedTools ID = "disallowed-tools"
)

// All returns the statements, money first.
func All() []Statement {
	return []Statement{
		{ID: TurnCost, Kind: Money,
			Text:     "`model_usage_since_last_result` of a result is what the responses of its turn cost, per model.",
			Fallback: "a turn costs the difference between totals, and no less than its tokens by wavex's own table"},
		{ID: TotalCost, Kind: Money,
			Text:     "`total_cost_usd` is what the responses of a new session cost, by their tokens and list prices.",
			Fallback: "a turn costs no less than its tokens by wavex's own table"},
		{ID: PartialUsage, Kind: Money,
			Text:     "With `--include-partial-messages` each response's `message_delta` has its final token counts.",
			Fallback: "an attempt that died without a result, and has told no final count, counts at its cap"},
		{ID: Cap, Kind: Money, Required: true,
			Text:     "`--max-budget-usd` ends a turn with the response that reaches it.",
			Fallback: "the cap is passed, and the ledger refuses the next attempt when the budget is gone"},

		{ID: Denied, Kind: Permission, Required: true,
			Text:     "A tool call that nothing allows is not carried out.",
			Fallback: "the rules are passed, and what an agent did is in its transcript"},
		{ID: DisallowedTools, Kind: Permission, Required: true,
			Text:     "`--disallowedTools` takes tools away.",
			Fallback: "the flag is passed, and what an agent did is in its transcript"},
	}
}

// Select returns the statements with the given verdict, in the order of the list.
func (v SupportSet) Select(want Support) []Statement {
	return slices.DeleteFunc(All(), func(s Statement) bool { return v[s.ID] != want })
}
