// Package tasklist reads and writes the task lists of Claude Code: a folder for each
// list, a JSON file for each task. It takes a list as a plan, puts a plan into a list,
// and mirrors a run's progress there, beside sessions that use the list at the same time.
//
// The CLI's protocol, as observed on claude 2.1.197 (docs/claude-cli.md, e2e/tasklist_test.go):
//
//   - A list is CONFIG/tasks/NAME, with every character of NAME but letters, digits, _ and -
//     replaced by "-". A task is ID.json there; its name counts, not the id inside.
//   - A task is created under the lock ".lock" (the folder ".lock.lock"), and changed under a
//     lock of its own file ("3.json.lock"). It is deleted without any lock.
//   - A lock is a folder, made by mkdir and removed by rmdir. Its holder refreshes its
//     mtime; one older than 10 s is stale and may be taken over. The CLI gives up
//     waiting after about 2.7 s, so we must never hold one for long.
//   - Files are written in place, so that a reader can see a new beginning with an old
//     end: never valid JSON.
//   - The CLI ignores files that do not have its shape, unknown statuses included, and
//     drops fields it does not know when it changes a file. metadata survives whole.
//   - New ids are one more than the highest number among the file names and
//     ".highwatermark", which deletions raise.
package tasklist
