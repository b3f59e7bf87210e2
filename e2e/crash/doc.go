// Package crash holds the tests that kill wavex, fill its disk and damage its
// journal, and then ask whether anything was lost, done twice, paid twice or left
// running. They drive the real binary with the rehearsal agent; no CLI is needed.
//
//   - kill: SIGKILL at random moments, SIGTERM and SIGKILL as CI runners do
//   - cut: the journal ends after any of its bytes, or one of them is another
//   - disk: no room, read-only, a journal of another version, a stale lock
//   - clock: time runs backwards
//   - bulk: streams of hundreds of megabytes, in little memory
//
// What needs processes, mounts and /proc is for Linux; the rest runs everywhere.
package crash
