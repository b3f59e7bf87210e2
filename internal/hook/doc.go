// Package hook answers the Stop and SessionStart hooks of Claude Code, and installs them in its
// settings. It knows the hooks' contracts (as observed on claude 2.1.330) and the state of a run.
// It never starts or changes a run, and calls no model.
//
// A hook must be quick and must never harm a session: if a file cannot be read or parsed, or no
// decision is possible, the hook lets the session go. So a hook reads only files of bounded size.
// The journal's last record says whether and how the run has ended. All other facts come from a
// Card, a projection of constant size that a Mirror keeps in .loop/hook.json during the run. After
// a kill of wavex, a card may lack the latest events of the journal; it never has more than the
// journal.
//
// A session belongs to a run if a tool command of that session started wavex (the CLI passes its
// session to every command in CLAUDE_CODE_SESSION_ID). The session that last ran or resumed the run
// owns it; every other session is let go.
package hook
