package rehearse

// Outcome is how a rehearsed turn ends: well, or in one of the ways in which the
// real CLI was seen to fail or could be feared to.
type Outcome string

// The outcomes. docs/rehearsal.md says for each what appears on the stream, the exit
// code, and what wavex makes of it.
const (
	OK                   Outcome = "ok"
	Fail                 Outcome = "fail"                   // the agent reports failure
	HangAtStart          Outcome = "hang-at-start"          // reads and prints nothing
	Stall                Outcome = "stall"                  // goes silent mid-turn; an interrupt works
	HangAfterResult      Outcome = "hang-after-result"      // does not end when stdin closes
	Truncated            Outcome = "truncated"              // the result line is cut
	SplitUTF8            Outcome = "split-utf8"             // characters arrive in pieces
	BigLine              Outcome = "big-line"               // one line of Size bytes
	Garbage              Outcome = "garbage"                // noise between the lines
	GarbageOnly          Outcome = "garbage-only"           // noise and nothing else
	Error400             Outcome = "error-400"              //
	Error401             Outcome = "error-401"              //
	Error403             Outcome = "error-403"              //
	Error429             Outcome = "error-429"              //
	Error500             Outcome = "error-500"              //
	Error529             Outcome = "error-529"              // api_error_status null: only api_retry has it
	Credit               Outcome = "credit"                 // out of credit
	Limited              Outcome = "limited"                // usage limit with a reset time
	Warning              Outcome = "warning"                // near the usage limit, then ok
	Denial               Outcome = "denial"                 // Runs are denied; exit 0
	OverTurns            Outcome = "over-turns"             //
	OverCap              Outcome = "over-cap"               //
	IgnoreSigterm        Outcome = "ignore-sigterm"         // only SIGKILL ends it
	Orphan               Outcome = "orphan"                 // leaves a process in a session of its own
	OrphanStdout         Outcome = "orphan-stdout"          // the same, and it holds stdout open
	Exit137              Outcome = "exit-137"               // killed mid-turn
	NoResult             Outcome = "no-result"              // ends well, without a result line
	ResultTwice          Outcome = "result-twice"           //
	DiesBeforePrompt     Outcome = "dies-before-prompt"     //
	InterruptedLooksGood Outcome = "interrupted-looks-good" // works until stopped, then reports success
	LostSession          Outcome = "lost-session"           // --resume finds nothing
)

// Outcomes lists them all, in the order of docs/rehearsal.md.
var Outcomes = [...]Outcome{OK, Fail, HangAtStart, Stall, HangAfterResult, Truncated, SplitUTF8, BigLine, Garbage,
	GarbageOnly, Error400, Error401, Error403, Error429, Error500, Error529, Credit, Limited, Warning, Denial, OverTurns,
	OverCap, IgnoreSigterm, Orphan, OrphanStdout, Exit137, NoResult, ResultTwice, DiesBeforePrompt,
	InterruptedLooksGood, LostSession}
