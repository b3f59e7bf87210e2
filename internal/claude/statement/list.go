package statement

import "slices"

// These are the statements about money.
const (
	TurnCost        ID = "turn-cost"
	TotalCost       ID = "total-cost"
	ResumedTotal    ID = "resumed-total"
	InterruptedCost ID = "interrupted-cost"
	PartialUsage    ID = "partial-usage"
	OneResult       ID = "one-result"
	Cap             ID = "cap"
	ResumedCap      ID = "resumed-cap"
)

// These are the statements about permission.
const (
	Denied          ID = "denied"
	DenialsReported ID = "denials-reported"
	AllowRules      ID = "allow-rules"
	AcceptEdits     ID = "accept-edits"
	ToolsLimited    ID = "tools-limited"
	DisallowedTools ID = "disallowed-tools"
	StrictMCP       ID = "strict-mcp"
)

// These are the other statements.
const (
	Interrupt     ID = "interrupt"
	EndsWithStdin ID = "ends-with-stdin"
	EndsOnTerm    ID = "ends-on-term"
	SessionID     ID = "session-id"
	Resume        ID = "resume"
	JSONSchema    ID = "json-schema"
	TaskTools     ID = "task-tools"
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
		{ID: ResumedTotal, Kind: Money, tested: perVersion(Holds, Fails),
			Text:     "`total_cost_usd` of a process that resumes a session begins at 0.",
			Fallback: "the total that the process tells before its first prompt is no part of the turn's cost"},
		{ID: InterruptedCost, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "The result of an interrupted turn has the cost of the responses that it got.",
			Fallback: "an interrupted turn costs no less than its tokens by wavex's own table"},
		{ID: PartialUsage, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "With `--include-partial-messages` each response's `message_delta` has its final token counts.",
			Fallback: "an attempt that died without a result, and has told no final count, counts at its cap"},
		{ID: OneResult, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "A turn ends with one result line, after its last response.",
			Fallback: "a turn costs no less than its tokens by wavex's own table"},
		{ID: Cap, Kind: Money, Required: true, tested: perVersion(Holds, Holds),
			Text:     "`--max-budget-usd` ends a turn with the response that reaches it.",
			Fallback: "the cap is passed, and the ledger refuses the next attempt when the budget is gone"},
		{ID: ResumedCap, Kind: Money, tested: perVersion(Holds, Holds),
			Text:     "`--max-budget-usd` of a process that resumes a session does not count what the session cost before.",
			Fallback: "a turn that ends at its cap early is topped up from the ledger"},

		{ID: Denied, Kind: Permission, Required: true, tested: perVersion(Holds, Holds),
			Text:     "A tool call that nothing allows is not carried out.",
			Fallback: "the rules are passed, and what an agent did is in its transcript"},
		{ID: DenialsReported, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "`permission_denials` of a result names each tool call that was denied.",
			Fallback: "the checks decide whether a denied call mattered"},
		{ID: AllowRules, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "A rule in `--settings` allows its command.",
			Fallback: "an attempt that cannot run its checks ends as denied, and the run says which rule is missing"},
		{ID: AcceptEdits, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "`--permission-mode acceptEdits` lets an agent write files in its working directory.",
			Fallback: "an attempt that cannot write ends as denied, and the run says which rule is missing"},
		{ID: ToolsLimited, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "`--tools` offers the named tools of the CLI and no others.",
			Fallback: "an expert's other tools are denied by the default permission mode"},
		{ID: DisallowedTools, Kind: Permission, Required: true, tested: perVersion(Holds, Holds),
			Text:     "`--disallowedTools` takes tools away.",
			Fallback: "the flag is passed, and what an agent did is in its transcript"},
		{ID: StrictMCP, Kind: Permission, tested: perVersion(Holds, Holds),
			Text:     "`--strict-mcp-config` leaves out the MCP servers that user and project have set up.",
			Fallback: "tools of such servers are denied unless a rule allows them"},

		{ID: Interrupt, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "The control request `interrupt` ends a turn with a result line.",
			Fallback: "stdin is closed, then SIGTERM is sent"},
		{ID: EndsWithStdin, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "A process without a turn ends with exit status 0 when its stdin is closed.",
			Fallback: "SIGTERM is sent"},
		{ID: EndsOnTerm, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "SIGTERM ends a process that waits for the API, with exit status 143.",
			Fallback: "the process and all that it started are killed"},
		{ID: SessionID, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "`--session-id` names the session, and a name that is in use is refused.",
			Fallback: "the session that the init line names is the one that is resumed"},
		{ID: Resume, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "`--resume` continues a session in another process with what was said before.",
			Fallback: "an attempt whose session is not found begins another"},
		{ID: JSONSchema, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "`--json-schema` gives a result with `structured_output`.",
			Fallback: "an answer without it counts as none"},
		{ID: TaskTools, Kind: Other, tested: perVersion(Holds, Holds),
			Text:     "With a task list and `CLAUDE_CODE_ENABLE_TODO_TOOLS=1` an agent has the Task tools.",
			Fallback: "agents do not see the shared list"},
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
