// Package evidence holds acceptance cases for the evidence that a run needs: dishonest plans, in
// which too little is done and which must never end green, and honest ones, which must. A case is a
// txtar file below testdata: a project, its plan, the agent's actions and the expected end. This
// package reads the cases, unpacks them and judges how wavex ended. Its test runs all of them with
// the rehearsal agent; a test of package e2e runs some with the real CLI.
//
// # A case
//
// The text before the first file is a sentence and directives:
//
//	flags: WORDS     further flags of wavex run, and of the second command; a task has one retry
//	again: WORDS     a second command, such as resume; person.sh runs before it
//	only: MODE       the one isolation of the case; without it rig.Whole decides between one and both
//	copy: FOLDER     of the checkout; its files belong to the project
//	real: MODE       the isolation in which the case runs with the real CLI too
//	exit: N          of the last command; without it 1, 4 or 5 for a dishonest case, else 0
//	names: REGEXP    matches a line of the output, in which checks and subjects do not count
//	unproven: IDS    tasks and criteria that the gate refuses by name, with the way out
//	told: REGEXP     the same of the prompt of T-001's second attempt
//	holds: COMMAND   succeeds in the project in the end
//
// All files belong to the project, except these:
//
//	agent/ID, agent/ID.2    scripts: the actions of the agent in its first and later attempts at a task
//	agent.json              a scenario of the rehearsal agent, which the scripts extend
//	bin/NAME                a program in PATH
//	before.sh               runs in the project before its first commit
//	person.sh               the actions of a person before the second command
//
// # Pending cases
//
// testdata/pending.txt lists the cases that wavex does not pass yet. A case on the list fails its
// test when it passes, so the list only shrinks.
package evidence
