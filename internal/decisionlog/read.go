package decisionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/loadline/loadline"
)

// ErrEmpty: the folder has no decision.
var ErrEmpty = errors.New("there are no decisions in it")

// Damage is a part of a log that cannot be read and is skipped.
type Damage struct {
	File  string
	At    int64 // byte where it begins
	Bytes int64 // 0 = unknown
	Why   string
	// Tail: it is the end of the segment, which is being written, or was when the writer was
	// killed.
	Tail bool
}

func (d Damage) String() string {
	if d.Bytes == 0 {
		return fmt.Sprintf("%s cannot be read from byte %d on: %s", d.File, d.At, d.Why)
	}
	if d.Tail {
		return fmt.Sprintf("%s ends with %d bytes that are no whole record: it is being written, or its writer was killed", d.File,
			d.Bytes)
	}
	return fmt.Sprintf("%s has %d bytes at %d that are left out: %s", d.File, d.Bytes, d.At, d.Why)
}

// Reader reads a log, during or after writing. Read it from the first segment forwards, or from
// the last backwards. A decision that was applied late is written after later ones.
type Reader struct {
	dir      string
	segments []segment
	// Progress, if not nil, gets the share of the log that has been read.
	Progress func(share float64)
	// Damage found so far.
	Damage []Damage
}

func (r *Reader) progress(share float64) {
	if r.Progress != nil {
		r.Progress(share)
	}
}

// Entry is one record with the application of its time, nil if unknown. Entries share
// applications; records belong to the caller.
type Entry struct {
	App    *loadline.App
	Record *Record
}

// OpenReader lists the segments of a log. Later additions are not seen.
func OpenReader(dir string) (*Reader, error) {
	var all []segment
	// While a segment is compressed or dropped, the folder may look empty.
	for range 3 {
		var err error
		if all, err = listSegments(dir); err != nil {
			return nil, err
		}
		if len(all) > 0 {
			break
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("decision log %s: %w", dir, ErrEmpty)
	}
	return &Reader{dir: dir, segments: all}, nil
}

// Segments counts them.
func (r *Reader) Segments() int { return len(r.segments) }

// Bytes of a segment, as it was listed.
func (r *Reader) Bytes(segment int) int64 { return r.segments[segment].size }

// Begins is the instant of a segment's first decision; zero = none, or dropped by the writer
// meanwhile.
func (r *Reader) Begins(segment int) (time.Time, error) {
	s := &r.segments[segment]
	if s.first.IsZero() {
		if err := s.begin(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, err
		}
	}
	return s.first, nil
}

// Read visits the complete records of a segment in the order of writing. A segment
// that the writer has dropped since it was listed has none.
func (r *Reader) Read(segment int, visit func(Entry) error) error {
	return r.readWanted(segment, nil, visit)
}

// readWanted is Read of the decisions from observations of the instants that are wanted; nil = all. The
// others are checked and not decoded, which is most of the work.
func (r *Reader) readWanted(segment int, wanted func(at time.Time) bool, visit func(Entry) error) error {
	s := &r.segments[segment]
	file, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return r.readAll(file, s.path, wanted, visit)
}

// readAll visits the complete records. A damaged compressed segment cannot be read beyond the
// damage.
func (r *Reader) readAll(from io.Reader, path string, wanted func(at time.Time) bool, visit func(Entry) error) error {
	in := newLines(from)
	var app *loadline.App
	var at int64
	for {
		text, length, complete, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, packed := from.(*unpacked); packed && err != nil {
			r.note(Damage{File: path, At: at, Why: err.Error()})
			return nil
		}
		if err != nil {
			return fmt.Errorf("decision log: read %s: %w", path, err)
		}
		start := at
		at += length
		if !complete {
			r.note(Damage{File: path, At: start, Bytes: length, Tail: true})
			return nil
		}
		l, err := readLine(text, path, wanted)
		var future *FutureError
		switch {
		case errors.As(err, &future):
			return err
		case err != nil:
			r.note(Damage{File: path, At: start, Bytes: length, Why: err.Error()})
		case l.App != nil:
			app = l.App
		case l.Decision != nil:
			if err := visit(Entry{app, l.Decision}); err != nil {
				return err
			}
		}
	}
}

// note records damage once, however often a segment is read.
func (r *Reader) note(d Damage) {
	for _, known := range r.Damage {
		if known.File == d.File && known.At == d.At {
			return
		}
	}
	r.Damage = append(r.Damage, d)
}

func readLine(text []byte, path string, wanted func(at time.Time) bool) (*line, error) {
	object, err := checkLine(text)
	if err != nil {
		return nil, err
	}
	if at, known := decidedAt(object); known && wanted != nil && !wanted(at) {
		return &line{}, nil
	}
	return parseLine(object, path)
}

// beforeTime is how a decision of this version begins, up to the time of its observation.
var beforeTime = fmt.Appendf(nil, `{"v":%d,"decision":{"at":"`, Version)

// decidedAt is the time of a decision without decoding it; false if the object is something else.
func decidedAt(object []byte) (time.Time, bool) {
	rest, is := bytes.CutPrefix(object, beforeTime)
	end := bytes.IndexByte(rest, '"')
	if !is || end < 0 {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(rest[:end]))
	return at, err == nil
}
