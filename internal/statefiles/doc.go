// Package statefiles writes the files in .loop for other programs and people: workflow-state.json,
// state.json and PROGRESS.md. They are projections: their contents follow from the journal, and
// Rebuild writes them again from it, byte for byte. wavex itself never reads a run from them.
//
// A file is replaced atomically (temporary file, sync, rename), so a reader sees the old one or the
// new one. Keys of other programs in an existing file are kept. So are the values of wavex's own
// keys for which wavex has no value.
package statefiles
