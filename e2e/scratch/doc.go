// Package scratch is shared by the tests that kill wavex. It holds a scratch project, the processes
// of wavex in it, a disk that can be full, and the account of a run, made only of the files on disk.
// It is for Linux.
package scratch
