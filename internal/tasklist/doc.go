// Package tasklist reads and writes the task lists of Claude Code: a folder for each list, a JSON
// file for each task. It converts a list to a plan, exports a plan to a list, and mirrors a run's
// progress in a list, while sessions use the list at the same time.
//
// The CLI's protocol, as observed on claude 2.1.330 (docs/claude-cli.md, e2e/tasklist_test.go):
//
//   - A list is CONFIG/tasks/NAME, with every character of NAME except letters, digits, _ and -
//     replaced by "-". A task is ID.json there; the file name counts, not the id inside.
//   - A task is created under the lock ".lock" (the folder ".lock.lock"), and changed under a
//     lock of its own file ("3.json.lock"). It is deleted without any lock.
//   - A lock is a folder, made by mkdir and removed by rmdir. Its holder updates its mtime; a
//     lock older than 10 s is stale and may be taken over. The CLI waits about 2.7 s for a lock,
//     so wavex must not hold one for long.
//   - Files are written in place, so a reader may see a new beginning with an old end, which is
//     never valid JSON.
//   - The CLI ignores files without its shape, also those with an unknown status. When it changes
//     a file it drops unknown fields, but keeps metadata whole.
//   - A new id is one more than the highest number among the file names and ".highwatermark",
//     which deletions raise.
package tasklist
