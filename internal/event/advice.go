package event

// These are the texts in stops and notices that name a command or a flag of wavex. The loop decides
// which one a run needs, and spells none (TestSchedulerNamesNoFlag).
const (
	ReasonCancelled    = "cancelled with wavex cancel"
	ReasonFailFast     = "task %s failed and --fail-fast was given"
	AdviceDoctor       = "see `wavex doctor`"
	AdviceLimit        = "resume after the reset, or run with --wait-for-reset"
	AdviceRed          = `wavex verify --fix mends it; "once": true on a check that need not hold after its task`
	AdviceUnproven     = "a check that fails without the work shows it; resume --accept-assumptions accepts it as it is"
	AdvicePrecheck     = "resume asks again; --precheck off goes on without"
	AdviceBlockers     = "mend them, or judge them with --mode interactive; resume reviews again"
	NoticeSubscription = "subscription login: dollars are notional, nobody is billed them, and they do not " +
		"stop the run; --budget makes them"
	NoticeDisputed = "claude %s said that an attempt cost %s; its tokens cost %s at list prices, which is counted, " +
		"here and from now on; if your prices are lower, give them with --prices"
	NoticeGuessed = "an attempt ended without the CLI's figure, and there is no list price of %s: %s counts, by a " +
		"guess, here and from now on; give its prices with --prices"
)

// ResumeCommand returns the command that continues a run after stop, which may be nil. path is the path of
// its plan, quoted for a shell.
func ResumeCommand(path string, stop *Stop) string {
	cmd := "wavex resume " + path
	if stop != nil && stop.AtLimit() {
		cmd += " " + stop.Advice // a flag that raises the limit
	}
	return cmd
}

// RetryCommand returns the command that tries failed tasks again. ids are quoted for a shell.
func RetryCommand(ids string) string { return "wavex retry " + ids }
