package fleet

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Traffic counts the messages and bytes of a link.
type Traffic struct {
	Decisions     uint64 `json:"decisions"`      // that the server has acknowledged
	Duplicates    uint64 `json:"duplicates"`     // of them, duplicates
	Refused       uint64 `json:"refused"`        // because the stream was full; they stay queued
	Payload       uint64 `json:"payload"`        // bytes of the decisions themselves
	Snapshots     uint64 `json:"snapshots"`      // that the server has acknowledged
	SnapshotBytes uint64 `json:"snapshot_bytes"` // bytes of the snapshots themselves
	Sent          uint64 `json:"sent"`           // bytes on the wire, everything included
	Received      uint64 `json:"received"`       // likewise, received
}

// PerDecision is the cost of a decision: its own bytes, and all bytes on the wire divided by
// the decisions.
func (c Traffic) PerDecision() (payload, wire float64) {
	if c.Decisions == 0 {
		return 0, 0
	}
	n := float64(c.Decisions)
	return float64(c.Payload) / n, float64(c.Sent+c.Received) / n
}

func (c Traffic) String() string {
	payload, wire := c.PerDecision()
	text := fmt.Sprintf("%d decisions of %.0f bytes, %.0f on the wire (%d sent and %d received in all)", c.Decisions, payload, wire,
		c.Sent, c.Received)
	if c.Snapshots > 0 {
		text += fmt.Sprintf("; %d snapshots of %.0f bytes are in that", c.Snapshots, float64(c.SnapshotBytes)/float64(c.Snapshots))
	}
	return text
}

// Traffic so far. Bytes are counted below TLS: as sent over the network.
func (l *Link) Traffic() Traffic {
	m := &l.meter
	return Traffic{
		Decisions: m.decisions.Load(), Duplicates: m.duplicates.Load(), Refused: m.refused.Load(), Payload: m.payload.Load(),
		Snapshots: m.snapshots.Load(), SnapshotBytes: m.snapshotBytes.Load(),
		Sent: m.sent.Load(), Received: m.received.Load(),
	}
}

type meter struct {
	decisions, duplicates, refused, payload, snapshots, snapshotBytes, sent, received atomic.Uint64
}

// counted is a connection that counts its bytes.
type counted struct {
	net.Conn
	meter *meter
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.received.Add(uint64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.meter.sent.Add(uint64(n))
	return n, err
}

// dialer makes counted connections.
type dialer struct {
	timeout time.Duration
	meter   *meter
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: d.timeout}).Dial(network, address)
	if err != nil {
		return nil, err
	}
	return counted{conn, d.meter}, nil
}

// inProcess makes counted connections within the process.
type inProcess struct {
	server *Server
	meter  *meter
}

// InProcessConn implements nats.InProcessConnProvider.
func (p inProcess) InProcessConn() (net.Conn, error) {
	conn, err := p.server.nats.InProcessConn()
	if err != nil {
		return nil, err
	}
	return counted{conn, p.meter}, nil
}
