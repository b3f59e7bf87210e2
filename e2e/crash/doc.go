// Package crash holds the tests that kill wavex, fill its disk and damage its journal, and then
// check that nothing was lost, done twice, paid twice or left running. They run the real binary
// with the rehearsal agent; no CLI is needed.
//
//   - kill: SIGKILL at random moments, SIGTERM and SIGKILL as CI runners do
//   - disk: full, read-only, a journal of another version, a stale lock
//   - power: files that were written last are empty, cut or gone
//   - bulk: streams of hundreds of megabytes, in little memory
//
// The tests need processes, mounts and /proc of Linux.
package crash
