// Package run runs one session of a run: it opens journal and workspace, connects the
// scheduler's loop to runner, workspace, reviews and projections, runs the loop, and releases
// everything. It also makes the requests of attempts, and the results of attempts that an earlier
// session left open.
//
// It does not decide which tasks run; package scheduler does. It knows no flag, no terminal and no
// exit code: the input is Options, the output an Outcome, and questions go to a Console. The caller
// calls Open, Run once, and Close:
//
//	s, err := run.Open(ctx, options)
//	out, err := s.Run(ctx, console)
//	s.Close()
package run
