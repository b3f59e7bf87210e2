// Package remote makes the attempts of a run on other machines, through an engine that hands them to workers. Runner
// starts an attempt or attaches to it, waits for its end, and turns each end into a result. It knows no engine by name,
// and decides nothing about what follows an attempt.
//
// # An attempt is started once
//
// The id of an attempt (wire.ID) is a function of its run, task and number. An engine starts no id twice. So the start
// is simply repeated: after an error of the engine, and by a later session of the run for attempts that are open on
// record.
//
// # An attempt that the engine lost
//
// A worker pushes the result together with the work and the logs, before it tells the engine. So for an attempt that
// the engine has lost or forgotten the Runner looks at the git remote first: for its result, or else for the end of its
// turn. Only without those it counts at its cap.
package remote
