package decisionlog

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	segmentPrefix = "decisions-"
	segmentSuffix = ".log"
	packedSuffix  = ".gz" // after the other
)

// segment is one file of a log.
type segment struct {
	number int
	path   string
	size   int64
	first  time.Time // of its first decision; zero = it has none
}

func segmentPath(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%06d%s", segmentPrefix, number, segmentSuffix))
}

// listSegments of a folder, oldest first. Other files are ignored.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	var all []segment
	for _, e := range entries {
		number := segmentNumber(e.Name())
		if number == 0 {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped by the writer meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("decision log: %w", err)
		}
		all = append(all, segment{number: number, path: filepath.Join(dir, e.Name()), size: info.Size()})
	}
	// If a segment exists in both forms, its writer was killed before it removed the
	// uncompressed one.
	slices.SortFunc(all, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.number, b.number), -cmp.Compare(len(a.path), len(b.path)))
	})
	return slices.CompactFunc(all, func(a, b segment) bool { return a.number == b.number }), nil
}

// segmentNumber of a file; 0 = it is none.
func segmentNumber(name string) int {
	text, ours := strings.CutPrefix(strings.TrimSuffix(name, packedSuffix), segmentPrefix)
	text, log := strings.CutSuffix(text, segmentSuffix)
	number, err := strconv.Atoi(text)
	if !ours || !log || err != nil || number < 1 {
		return 0
	}
	return number
}

func (s *segment) packed() bool { return strings.HasSuffix(s.path, packedSuffix) }

// open opens the segment for reading. It may have been compressed since it was listed.
func (s *segment) open() (io.ReadCloser, error) {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) && !s.packed() {
		if file, err = os.Open(s.path + packedSuffix); err == nil {
			s.path += packedSuffix
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	if !s.packed() {
		return file, nil
	}
	return &unpacked{file: file}, nil
}

// unpacked reads a compressed segment. Errors come with the first read, as for the other form.
type unpacked struct {
	file *os.File
	text *gzip.Reader
}

func (u *unpacked) Read(p []byte) (int, error) {
	if u.text == nil {
		text, err := gzip.NewReader(u.file)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // not even a beginning
		}
		if err != nil {
			return 0, fmt.Errorf("unpack: %w", err)
		}
		u.text = text
	}
	return u.text.Read(p)
}

func (u *unpacked) Close() error { return u.file.Close() }

// begin reads when the segment begins.
func (s *segment) begin() error {
	file, err := s.open()
	if err != nil {
		return err
	}
	defer file.Close()
	in := newLines(file)
	for {
		text, _, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole || err != nil && s.packed() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("decision log: read %s: %w", s.path, err)
		}
		object, err := checkLine(text)
		if err != nil {
			continue
		}
		l, err := parseLine(object, s.path)
		var future *FutureError
		if errors.As(err, &future) {
			return err
		}
		if err == nil && l.Decision != nil {
			s.first = l.Decision.At
			return nil
		}
	}
}

// completeLength is the offset after the last complete record of a segment. What follows was
// cut off by a crash. Damage before it is not repaired: readers skip and report it.
func (s *segment) completeLength() (int64, error) {
	file, err := s.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in := newLines(file)
	var at, good int64
	for {
		text, length, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err != nil {
			return 0, err
		}
		at += length
		if _, err := checkLine(text); err == nil && whole {
			good = at
		}
	}
}
