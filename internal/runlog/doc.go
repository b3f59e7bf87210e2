// Package runlog stores runs in .loop. It opens the journal for the session that writes it, reads
// it for every other command, finds a run in it, and adds to it between sessions. It does not
// schedule anything.
package runlog
