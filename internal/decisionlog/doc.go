// Package decisionlog stores every decision on disk: the observation and its age, the forecast,
// the policy's proposal and its alternative, the changes by each guard, what was applied, and
// the twin's prediction. The log is bounded, and readable after a crash up to the last complete
// record.
//
// A log is a folder of segments, decisions-000001.log and so on, and a lock.
// A segment is lines of text, each a checksum and a JSON object:
//
//	f0e1d2c3 {"v":1,"app":{...}}
//	8a9b0c1d {"v":1,"decision":{"at":"2026-03-01T12:04:15Z",...}}
//
// The checksum is CRC-32C of the object, in eight hexadecimal digits, so that cut -c10- FILE |
// jq reads a segment with plain tools. A line with its newline is written by one call; a killed
// writer leaves at most one torn line, at the end, which readers skip and the next writer
// removes. A segment begins with the application, so that each can be read on its own, and the
// application is written again when it changes.
//
// A full segment is compressed by gzip, decisions-000001.log.gz.
//
// There is one writer at a time, by a kernel lock that ends with its process. Readers need no
// lock.
//
// Reading order: record.go (the record), number.go (numbers that JSON cannot represent),
// convert.go (from a decision of the loop), rebuild.go (and back), recorder.go (beside the
// loop), line.go (one line), folder.go (the segments), log.go, rotate.go and pack.go (writing),
// read.go, order.go and find.go (reading); sentence.go (why a service changes, in one sentence, with the
// twin's estimate); explain.go with explain_change.go, explain_seen.go and explain_figures.go (a
// decision in plain sentences); explanation.go (the decisions of a log in sentences); replay.go with replay_cluster.go and replay_load.go (another policy
// over the recorded decisions).
//
// A replay is open-loop: the loop runs over the recorded observations and
// allocations, and nothing is applied. The outcome of the other policy needs a
// simulated cluster.
package decisionlog
