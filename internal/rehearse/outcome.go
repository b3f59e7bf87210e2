package rehearse

// Outcome is the end of a rehearsed turn: success, or a failure that the real CLI showed or might
// show.
type Outcome string

// The outcomes. docs/rehearsal.md lists for each the lines on the stream, the exit code, and the
// reaction of wavex.
const (
	OK                   Outcome = "ok"
	Fail                 Outcome = "fail"                   // the agent reports failure
	HangAtStart          Outcome = "hang-at-start"          // reads and prints nothing
	Stall                Outcome = "stall"                  // goes silent mid-turn; an interrupt works
	HangAfterResult      Outcome = "hang-after-result"      // does not exit when stdin closes
	Truncated            Outcome = "truncated"              // the result line is cut
	Garbage              Outcome = "garbage"                // noise between the lines
	GarbageOnly          Outcome = "garbage-only"           // only noise
	Error400             Outcome = "error-400"              //
	Error401             Outcome = "error-401"              //
	Error403             Outcome = "error-403"              //
	Error429             Outcome = "error-429"              //
	Error500             Outcome = "error-500"              //
	Error529             Outcome = "error-529"              // api_error_status null: only api_retry has it
	Credit               Outcome = "credit"                 // out of credit
	Refusal              Outcome = "refusal"                // the model refuses
	Limited              Outcome = "limited"                // usage limit with a reset time
	Warning              Outcome = "warning"                // near the usage limit, then ok
	Denial               Outcome = "denial"                 // Runs are denied; exit 0
	OverTurns            Outcome = "over-turns"             //
	OverCap              Outcome = "over-cap"               //
	IgnoreSigterm        Outcome = "ignore-sigterm"         // only SIGKILL ends it
	Orphan               Outcome = "orphan"                 // leaves a process in a session of its own
	OrphanStdout         Outcome = "orphan-stdout"          // as Orphan, but holds stdout open
	Exit137              Outcome = "exit-137"               // killed mid-turn
	NoResult             Outcome = "no-result"              // succeeds without a result line
	ResultTwice          Outcome = "result-twice"           //
	DiesBeforePrompt     Outcome = "dies-before-prompt"     //
	InterruptedLooksGood Outcome = "interrupted-looks-good" // works until stopped, then reports success
	LostSession          Outcome = "lost-session"           // --resume finds no session
)

// Outcomes lists all outcomes, in the order of docs/rehearsal.md.
var Outcomes = [...]Outcome{OK, Fail, HangAtStart, Stall, HangAfterResult, Truncated, Garbage,
	GarbageOnly, Error400, Error401, Error403, Error429, Error500, Error529, Credit, Refusal, Limited, Warning, Denial,
	OverTurns, OverCap, IgnoreSigterm, Orphan, OrphanStdout, Exit137, NoResult, ResultTwice, DiesBeforePrompt,
	InterruptedLooksGood, LostSession}
