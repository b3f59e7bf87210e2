// Package wire defines the messages of a coordinator and its workers through an engine: the request of an attempt,
// signs of life while it runs, and its result. It encodes, bounds, seals and checks messages. It knows no engine, no
// network and no git.
//
// # A message
//
// A message is JSON: the protocol, the kind, the id of the attempt, the release of the sender, and a body. Parse
// compares protocol, kind and id with those that the receiver expects, so a message cannot stand for another one, also
// if both were sealed with the same key. Fields that this protocol does not have are errors.
//
// A body of more than MaxInline bytes is detached: the message has only its digest, and the body travels by git. Attach
// puts it back if the digest is right.
//
// # The key
//
// A Key seals bytes with AES-256-GCM. Without it a program can neither read a message nor make one that
// opens. With it a program may run commands on every worker.
package wire
