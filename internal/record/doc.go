// Package record is what .loop keeps of runs: it opens the journal for the session that
// writes it, reads it for everybody else, finds a run in it, and adds to it between
// sessions. It decides nothing about what runs.
package record
