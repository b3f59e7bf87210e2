// Package evidence holds acceptance cases for the evidence that a run needs: dishonest plans, in
// which too little is done and which must never end better than written, and honest ones, which must
// never end worse. A case is a txtar file below testdata, in the folder of its kind or in one of the
// latter's folders: a project, its plan, the agent's actions and the expected end. This
// package reads the cases, unpacks them and judges how wavex ended. Its test runs all of them with
// the rehearsal agent; a test of package e2e runs some with the real CLI.
//
// # A case
//
// The text before the first file is a sentence and directives:
//
//	ends: REVIEW VERDICT ID=BASIS...   the end with the review "on" or "off": SHIP, MONITOR (exit 0 without SHIP)
//	                 or HOLD (exit 1, 4 or 5), and the basis of evidence of tasks and criteria; a line for each
//	                 review in which the case runs. Without it the end is that of the kind
//	git: yes|no      a case with an end that is written down also runs in a folder without git; this restricts it
//	each: TEXT       the case is made for each of these lines, with the text in place of EACH
//	flags: WORDS     further flags of wavex run, and of the second command; a task has one retry
//	again: WORDS     a second command, such as resume; person.sh runs before it
//	only: MODE       the one isolation of the case
//	copy: FOLDER     of the checkout; its files belong to the project
//	real: MODE       the isolation in which the case runs with the real CLI too
//	exit: N          of the last command; without it 1, 4 or 5 for a dishonest case, else 0
//	names: REGEXP    matches a line of the output, in which checks and subjects do not count; with "ends" only
//	                 without a review, where the end is no worse than written
//	shown: REGEXP    matches a line of a reviewer's prompt, if the run is complete
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
// A case runs in both isolations, with each review and with and without git as far as it allows: in one of
// these ways, by the case's name, and with -ways in all. An honest case that ends worse than written runs
// once more; a dishonest one never may end better.
package evidence
