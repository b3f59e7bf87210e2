// Package rehearse is the rehearsal agent: a real process that speaks the claude CLI's protocol in
// both directions, for one user turn, and follows a scenario, so that plans, limits and failures can be
// rehearsed without an account and without cost.
//
// It knows the CLI's flags, its stream-json lines and its ways to end, as observed on claude
// 2.1.258. It knows nothing of wavex's own runner, scheduler or plans: a run gives it one JSON file
// by the environment variable WAVEX_REHEARSE and talks to it exactly as to the CLI. Its token
// counts and costs are invented, and its init line says so ("wavex_rehearsal": true).
//
// docs/rehearsal.md is the reference; scenario.schema.json is the format.
package rehearse
