// Package loopdir writes the files in .loop that other programs and people read:
// workflow-state.json, state.json and PROGRESS.md. They are projections: everything
// in them follows from the journal, and they can be written again from it, byte for
// byte. wavex itself never reads a run from them.
//
// A file is replaced whole (temporary file, sync, rename), so a reader sees the old
// one or the new one. Keys of an existing file that are not ours, and ours that wavex
// has no value for, are kept.
package loopdir
