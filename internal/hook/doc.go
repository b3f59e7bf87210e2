// Package hook answers the Stop and SessionStart hooks of Claude Code, and puts them
// into its settings. It knows the hooks' contracts (as observed on claude 2.1.197)
// and where a run stands; it never starts or changes a run, and asks no model.
//
// A hook must be quick, and must never harm a session: whatever cannot be read,
// parsed or decided lets the session go. So a hook reads files of bounded size only.
// The journal's last record tells whether the run has ended, and how; all else comes
// from a Card, a projection of constant size that a Mirror keeps in .loop/hook.json
// while the run goes on. A card may be older than the journal by what was under way
// when wavex was killed, never newer.
//
// A session belongs to a run when wavex was started by a tool command of that session
// (the CLI tells every command its session in CLAUDE_CODE_SESSION_ID). The session that
// ran or resumed last owns the run; every other one is let go.
package hook
