// Package soak runs random plans with the rehearsal agent, strikes at them, and resumes them until
// they are complete. Then it compares the journal, the ledger, git and the processes: no work is
// lost, none done again, none paid twice, no process is alive, and the exit codes are those of
// docs/exit-codes.md.
//
// The ordinary tests run a few plans. `make soak` runs plans for an hour:
//
//	make soak                TIME=1h, and J plans side by side; prints a table
//	make soak SEED=42        only the plan of this seed, to repeat a failure
//	make soak SEED=42 N=100  the plans of the seeds from 42 to 141
//
// A seed decides the plan, the flags, the faults of the agents, and the strikes, which wait for a
// number of records in the journal or for a number of git commands. The order in which processes
// run is not its decision, so a failure may need several repetitions. It runs on Linux.
package soak
