package statement

import "slices"

// These are the statements: at most eight, about money and permission.
const (
	TurnCost        ID = "turn-cost"
	TotalCost       ID = "total-cost"
	PartialUsage    ID = "partial-usage"
	Cap             ID = "cap"
	Denied          ID = "denied"
	AllowRules      ID = "allow-rules"
	AcceptEdits     ID = "accept-edits"
	DisallowedTools ID = "disallowed-tools"
)

// All returns the statements, money first. The last columns are the verdicts on versions.
func All() []Statement {
	return []Statement{
		{ID: TurnCost, Kind: Money, tested: perVersion(Fails, Holds),
			Text:     "`model_usage_since_last_result` of a result is what the responses of its turn cost, per model.",
			Fallback: "a turn costs the difference between totals, and no less than its tokens by wavex's own table"},
		{ID: TotalCost, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "`total_cost_usd` is what the responses of a new session cost, by their tokens and list prices.",
			Fallback: "a turn costs no less than its tokens by wavex's own table"},
		{ID: PartialUsage, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "With `--include-partial-messages` each response's `message_delta` has its final token counts.",
			Fallback: "an attempt that died without a result, and has told no final count, counts at its cap"},
		{ID: Cap, Kind: Money, Required: true, tested: perVersion(Holds, Holds),
			Text:     "`--max-budget-usd` ends a turn with the response that reaches it.",
			Fallback: "the cap is passed, and the ledger refuses the next attempt when the budget is gone"},

		{ID: Denied, Kind: Permission, Required: true, tested: perVersion(Holds, Holds),
			Text:     "A tool call that nothing allows is not carried out.",
			Fallback: "the rules are passed, and what an agent did is in its transcript"},
		{ID: AllowRules, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "A rule in `--settings` allows its command.",
			Fallback: "an attempt that cannot run its checks ends as denied, and the run says which rule is missing"},
		{ID: AcceptEdits, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "`--permission-mode acceptEdits` lets an agent write files in its working directory.",
			Fallback: "an attempt that cannot write ends as denied, and the run says which rule is missing"},
		{ID: DisallowedTools, Kind: Permission, Required: true, tested: perVersion(Holds, Holds),
			Text:     "`--disallowedTools` takes tools away.",
			Fallback: "the flag is passed, and what an agent did is in its transcript"},
	}
}

// perVersion returns the verdicts on the tested versions.
func perVersion(oldest, newest Support) [len(versions)]Support { return [...]Support{oldest, newest} }

// Select returns the statements with the given verdict, in the order of the list.
func (v SupportSet) Select(want Support) []Statement {
	return slices.DeleteFunc(All(), func(s Statement) bool { return v[s.ID] != want })
}

// Oldest returns the oldest tested version. wavex refuses older ones.
func Oldest() string { return versions[0] }

// Newest returns the newest tested version.
func Newest() string { return versions[len(versions)-1] }

// publishedSizes are the sizes in bytes of the programs of the tested versions, by operating system and
// architecture, as npm has them in @anthropic-ai/claude-code-OS-ARCH. On other platforms the
// program is probed.
var publishedSizes = map[string][len(versions)]int64{
	"linux/amd64": {215473560, 381121040},
}

// PublishedSize returns the size in bytes of the program of a tested version on a platform such as
// "linux/amd64", or -1 if it is unknown. A file of another size is a wrapper, or was altered.
func PublishedSize(version, platform string) int64 {
	sizes, known := publishedSizes[platform]
	if i := slices.Index(versions[:], version); known && i >= 0 {
		return sizes[i]
	}
	return -1
}

// Tested returns the built-in verdicts on a version, such as "2.1.330", and false for a version
// that was not tested.
func Tested(version string) (SupportSet, bool) {
	for i, v := range versions {
		if v != version {
			continue
		}
		out := SupportSet{}
		for _, s := range All() {
			out[s.ID] = s.tested[i]
		}
		return out, true
	}
	return nil, false
}
