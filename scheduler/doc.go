// Package scheduler is the loop that runs a plan. It decides which work may start, starts it within
// money and concurrency limits, and records every decision.
//
// One goroutine owns the State. Each worker runs one attempt or one panel and sends one message
// back to it. The loop handles a message in three steps:
//
//	onX      decide on the message (an attempt's end, a signal): one event
//	decideX  decide the next step (a wave opens, an attempt starts, the run ends),
//	         again after each event until there is no further decision
//	flush    make the events durable, then show them and act on them (commands that a durable
//	         record has announced start earlier, see running.covered)
//
// The functions onX and decideX are pure: they read a State and a time and return an event. Only
// applyX changes a State, live or in a replay. A fresh run therefore replays nothing, and a resume is not a special
// mode: wavex replays the journal, adds a Resumed event, and runs the same loop.
//
// Events carry the next state (the task's status, its stuckCount, the blocked tasks, the time of
// its next start). A replay does not use the rules in afterattempt.go, so the rules may change between
// versions without changing the past.
//
// Completed tasks are recognised by their content key: after an edit of the plan, only the changed
// tasks and their dependents run again.
package scheduler
