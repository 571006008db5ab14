package decisionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
)

// Options bound a log. The zero value of each field is a usable default.
type Options struct {
	SegmentBytes int64         // a segment is closed before it would be larger; 0 = 8 MiB
	SegmentSpan  time.Duration // and when it covers this much time; 0 = a day
	TotalBytes   int64         // the oldest segments are dropped to stay below; 0 = 256 MiB
	Keep         time.Duration // older segments are dropped; 0 = no limit
	// Sync forces records to disk: 0 = each one before Append returns; above 0 = when this much
	// time has passed since the last one; below 0 = only when a segment is closed. It matters
	// for power failures and crashes of the machine: a record survives the end of the process
	// in any case.
	Sync time.Duration
}

func (o Options) withDefaults() Options {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 8 << 20
	}
	if o.SegmentSpan == 0 {
		o.SegmentSpan = 24 * time.Hour
	}
	if o.TotalBytes == 0 {
		o.TotalBytes = max(256<<20, 2*o.SegmentBytes)
	}
	return o
}

// Validate reports everything that is wrong.
func (o Options) Validate() error {
	var faults []error
	o = o.withDefaults()
	if o.SegmentBytes < 1 {
		faults = append(faults, fmt.Errorf("decision log: segment bytes %d must be above 0", o.SegmentBytes))
	}
	if o.TotalBytes < 2*o.SegmentBytes {
		faults = append(faults, fmt.Errorf("decision log: total bytes %d must be at least twice the segment bytes %d, so that "+
			"something is left when a segment is dropped", o.TotalBytes, o.SegmentBytes))
	}
	if o.SegmentSpan < 0 || o.Keep < 0 {
		faults = append(faults, fmt.Errorf("decision log: segment span %v and keep %v must not be negative", o.SegmentSpan, o.Keep))
	}
	return errors.Join(faults...)
}

// Log is the writer's end of a log. It may be used by several goroutines.
type Log struct {
	dir     string
	options Options
	lock    io.Closer

	mu     sync.Mutex
	closed []segment    // oldest first
	now    segment      // the current one
	file   *os.File     // of it; nil = the next record begins a segment
	total  atomic.Int64 // bytes of all; read without the lock
	synced time.Time    // of the last record that was forced to disk
	dirty  bool

	app     *loadline.App // as last written
	appText []byte        // its line
	buffer  bytes.Buffer
}

// ErrClosed is returned by a closed log.
var ErrClosed = errors.New("the decision log is closed")

// Open opens a folder for writing and creates it if necessary. A torn record at the end is
// removed.
func Open(dir string, o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	held, err := atomicfile.Lock(dir)
	var busy *atomicfile.BusyError
	switch {
	case errors.As(err, &busy):
		return nil, fmt.Errorf("decision log: there is one writer at a time: %w", err)
	case err != nil:
		return nil, fmt.Errorf("decision log: %w", err)
	}
	l := &Log{dir: dir, options: o.withDefaults(), lock: held}
	if err := l.resume(); err != nil {
		held.Close()
		return nil, err
	}
	return l, nil
}

// resume continues where the last writer ended.
func (l *Log) resume() error {
	all, err := listSegments(l.dir)
	if err != nil || len(all) == 0 {
		return err
	}
	for i := range all {
		if err := all[i].begin(); err != nil {
			return err
		}
	}
	last := &all[len(all)-1]
	if last.packed() {
		l.closed, l.now = all, *last // its number is continued
		l.tidy()
		return nil
	}
	whole, err := last.completeLength()
	if err != nil {
		return fmt.Errorf("decision log: read %s: %w", last.path, err)
	}
	file, err := os.OpenFile(last.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	if whole < last.size {
		err := file.Truncate(whole)
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			file.Close()
			return fmt.Errorf("decision log: cut the torn record off %s: %w", last.path, err)
		}
		last.size = whole
	}
	l.closed, l.now, l.file = all[:len(all)-1], *last, file
	l.total.Store(last.size)
	l.tidy()
	return nil
}

func (l *Log) tidy() {
	tidy(l.dir, l.closed)
	for _, s := range l.closed {
		l.total.Add(s.size)
	}
}

// Append writes a record, and the application if it has changed. An application that is
// modified in place is not detected: pass a new one.
func (l *Log) Append(app *loadline.App, r *Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return ErrClosed
	}
	appChanged, err := l.encodeApp(app)
	if err != nil {
		return err
	}
	l.buffer.Reset()
	if appChanged {
		l.buffer.Write(l.appText)
	}
	if err := appendLine(&l.buffer, &line{Version: Version, Decision: r}); err != nil {
		return err
	}
	if err := l.makeRoom(r, appChanged); err != nil {
		l.app, l.appText = nil, nil // it is not on disk
		return err
	}
	return l.write(r)
}

// Size is the number of bytes on disk.
func (l *Log) Size() int64 { return l.total.Load() }

// oldest is when the oldest closed segment was last written, if there is one.
func (l *Log) oldest() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.closed) == 0 {
		return time.Time{}, false
	}
	return written(l.closed[0].path)
}

// dropOldest drops the oldest closed segment.
func (l *Log) dropOldest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.closed) == 0 {
		return nil
	}
	return l.dropFirst()
}

// encodeApp keeps the application's line and reports whether it is a new one.
func (l *Log) encodeApp(app *loadline.App) (bool, error) {
	if app == nil || app == l.app {
		return false, nil
	}
	var text bytes.Buffer
	if err := appendLine(&text, &line{Version: Version, App: app}); err != nil {
		return false, err
	}
	l.app = app
	if bytes.Equal(text.Bytes(), l.appText) {
		return false, nil
	}
	l.appText = text.Bytes()
	return true, nil
}

// write writes the buffer in one call. A partial write is undone, so that the next record does
// not follow a truncated one.
func (l *Log) write(r *Record) error {
	n, err := l.file.Write(l.buffer.Bytes())
	if err != nil {
		if n > 0 && l.file.Truncate(l.now.size) != nil {
			l.file.Close()
			l.retire()
		}
		l.app, l.appText = nil, nil
		return fmt.Errorf("decision log: %w", err)
	}
	l.now.size += int64(n)
	l.total.Add(int64(n))
	if l.now.first.IsZero() {
		l.now.first = r.At
	}
	l.dirty = true
	if every := l.options.Sync; every == 0 || every > 0 && (l.synced.IsZero() || r.At.Sub(l.synced) >= every) {
		return l.sync(r.At)
	}
	return nil
}

func (l *Log) sync(at time.Time) error {
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("decision log: force %s to disk: %w", l.now.path, err)
	}
	l.synced, l.dirty = at, false
	return nil
}

// Close forces everything to disk and unlocks the folder. It may be called again.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	err := l.endSegment()
	err = errors.Join(err, l.lock.Close())
	l.lock = nil
	return err
}
