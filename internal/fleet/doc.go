// Package fleet connects the students of an application with their teacher over NATS
// JetStream: the real server, embedded in this process or an external cluster. Experience
// goes up, weights come down. It is drpc.Transport over a network.
//
// Experience is a durable stream of bounded size that rejects messages when it is full.
// Messages are identified by ids, read in the order of their sequences, and removed only by the
// collector's acknowledgement, which follows its checkpoint. Weights are objects in a bucket,
// each with its version, the schema of the students that it fits and a checksum.
//
// Decisions never wait for any of it: Agent queues them in a Publisher and reads weights from a
// WeightCache, both in memory.
//
// Reading order: config.go and link.go (the connection), server.go with folder.go (the embedded
// server), stream.go and bucket.go (storage), send.go, reader.go and weights.go
// (drpc.Transport), publisher.go and weightcache.go (the same without blocking), agent.go with
// settle.go (a group of students), appobserver.go (snapshots of the whole application),
// ledger.go, checkpoint.go and collector.go (counting once, publishing weights), wire.go and
// schema.go (encoding), traffic.go (counters). Package teacher runs the teacher.
package fleet
