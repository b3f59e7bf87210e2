// Package session is one session of a run: it opens journal and workspace, wires the
// scheduler's loop to runner, site, hearing and projections, runs it, and gives everything
// back. What an attempt is to do, and what became of one that an earlier session left
// open, is gathered here.
//
// It decides nothing about what runs: that is package scheduler's. It knows no flag, no
// terminal and no exit code: Options come in, an Outcome goes out, and who can be asked
// sits at a Console. Open, Run once, Close:
//
//	s, err := session.Open(ctx, options)
//	out, err := s.Run(ctx, console)
//	s.Close()
package session
