// Package scheduler is the loop that runs a plan. It decides what may start, starts
// it within money and concurrency limits, and records every decision.
//
// One goroutine owns the State. Workers run one attempt or one panel and send one
// message back; nothing else crosses. A message is handled in three steps:
//
//	react   what the message itself decides (an attempt's end, a signal): one event
//	next    what may follow now (a wave opens, an attempt starts, the run ends),
//	        asked again after each event until there is nothing more
//	flush   the events are on disk; only now are they shown and acted on (but for commands
//	        that a durable record has foretold, see running.foretold)
//
// react and next are pure: they read a State and a time and return an event. apply
// is the only code that changes a State, live or replayed, so a fresh run is a
// replay of nothing and a resume is no mode of its own: the journal is replayed, a
// Resumed event is added, and the same loop goes on.
//
// Events carry the state they lead to (the task's status, its stuckCount, who is
// blocked, when it may start again). Replaying them needs none of the rules in
// follow.go, so the rules may change between versions without changing the past.
//
// Completed tasks are recognised by their content key: after an edit of the plan
// only the changed tasks and their dependents run again.
package scheduler
