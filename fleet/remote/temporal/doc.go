// Package temporal makes Temporal the engine of attempts on other machines. It is the only package that knows its
// SDK. Client is the engine on the side of the run, and Serve gives attempts to a worker on the other side.
//
// # An attempt
//
// An attempt is one standalone activity with the attempt's id. The server tries it once and keeps no history that
// wavex reads: the journal of the run decides what follows. The id is used once, so a second start attaches to the
// first one.
//
// # Signs of life and results
//
// A worker beats with the activity's token instead of activity.RecordHeartbeat, which stops once the attempt is
// cancelled, and whose short throttle also is its patience with a server that is away. It tells the result with the
// token too, until the server has taken it, and then returns activity.ErrResultPending: the SDK itself gives up the
// report while the server is away.
//
// # Sealing
//
// With a key each payload is sealed by a PayloadCodec. The server sees ids, queues, identities, times and reasons of
// cancellations.
package temporal
