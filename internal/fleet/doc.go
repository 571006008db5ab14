// Package fleet carries experience up to a teacher and weights down to students
// over NATS JetStream: the real server, embedded in this process or an external
// cluster. It is drpc.Transport over a network.
//
// Experience is a durable stream of bounded size that refuses what does not fit
// into it any more. It is told apart by message ids, read in the order of its
// sequences, and removed by nothing but the teacher's Ack, which comes after the
// teacher has written down up to where it has counted. Weights are objects in a
// bucket, each with its version, the schema of the students that it fits and a
// checksum; students watch them.
//
// Nobody who decides waits for any of it: Agent hands decisions to a Courier and
// takes weights from a Mirror, both of which are memory to it.
//
// Reading order: config.go and open.go (getting there), server.go with folder.go
// (the server in this process), stream.go and bucket.go (what is kept where),
// uplink.go, inbox.go and shelf.go (drpc.Transport), courier.go and mirror.go (the
// same without waiting), agent.go with settle.go (a group of students), witness.go (who
// sees the whole), ledger.go, checkpoint.go and teacher.go (who counts and publishes), wire.go
// and schema.go (bytes), carried.go (how many). Room class is a teacher that learns.
package fleet
