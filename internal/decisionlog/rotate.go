package decisionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// makeRoom ensures that the buffer fits: into this segment or a new one, and into the
// size of the log. A new segment begins with the application.
func (l *Log) makeRoom(r *Record, appIncluded bool) error {
	if l.file == nil || l.full(r.At) {
		if err := l.endSegment(); err != nil {
			return err
		}
		l.packLast()
		if !appIncluded && l.appText != nil {
			record := append([]byte(nil), l.buffer.Bytes()...)
			l.buffer.Reset()
			l.buffer.Write(l.appText)
			l.buffer.Write(record)
		}
	}
	if n := int64(l.buffer.Len()); n > l.options.SegmentBytes {
		return fmt.Errorf("decision log: a record of %d bytes with its application is larger than a segment, which may have %d: "+
			"allow larger segments", n, l.options.SegmentBytes)
	}
	if err := l.drop(int64(l.buffer.Len()), r.At); err != nil {
		return err
	}
	if l.file == nil {
		return l.beginSegment()
	}
	return nil
}

// full reports whether the segment has reached its size or its duration.
func (l *Log) full(at time.Time) bool {
	if l.now.size > 0 && l.now.size+int64(l.buffer.Len()) > l.options.SegmentBytes {
		return true
	}
	return !l.now.first.IsZero() && at.Sub(l.now.first) >= l.options.SegmentSpan
}

// drop drops the oldest segments until there is room for more bytes, and expired ones.
func (l *Log) drop(more int64, at time.Time) error {
	for len(l.closed) > 0 && (l.total.Load()+more > l.options.TotalBytes || l.expired(at)) {
		if err := l.dropFirst(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) dropFirst() error {
	oldest := l.closed[0]
	if err := os.Remove(oldest.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("decision log: drop the oldest segment: %w", err)
	}
	l.total.Add(-oldest.size)
	l.closed = l.closed[1:]
	return nil
}

// expired reports whether the oldest segment is older than Keep: the next one begins before it.
func (l *Log) expired(at time.Time) bool {
	if l.options.Keep == 0 {
		return false
	}
	next := at // of the record that will begin the next segment
	if len(l.closed) > 1 {
		next = l.closed[1].first
	} else if l.file != nil {
		next = l.now.first
	}
	return !next.IsZero() && at.Sub(next) > l.options.Keep
}

// endSegment forces the segment to disk and closes it.
func (l *Log) endSegment() error {
	if l.file == nil {
		return nil
	}
	var err error
	if l.dirty {
		err = l.sync(l.synced)
	}
	err = errors.Join(err, l.file.Close())
	l.retire()
	return err
}

func (l *Log) retire() {
	l.file = nil
	l.closed = append(l.closed, l.now)
}

// beginSegment makes the next file.
func (l *Log) beginSegment() error {
	next := segment{number: 1}
	if l.now.number > 0 {
		next.number = l.now.number + 1
	}
	next.path = segmentPath(l.dir, next.number)
	file, err := os.OpenFile(next.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	if folder, err := os.Open(l.dir); err == nil {
		_ = folder.Sync() // some file systems do not support it
		folder.Close()
	}
	l.now, l.file = next, file
	return nil
}
