package decisionlog

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/loadline/loadline/internal/atomicfile"
)

// packLast compresses the segment that was just closed, to about a tenth. If that fails the
// segment is kept uncompressed.
func (l *Log) packLast() {
	if n := len(l.closed); n > 0 {
		before := l.closed[n-1].size
		l.closed[n-1].pack()
		l.total.Add(l.closed[n-1].size - before)
	}
}

// pack completes the compressed file before it removes the other, so that one of them exists at
// any time.
func (s *segment) pack() {
	if s.packed() {
		return
	}
	packed := s.path + packedSuffix
	err := atomicfile.Write(packed, func(w io.Writer) error {
		from, err := os.Open(s.path)
		if err != nil {
			return err
		}
		defer from.Close()
		to := gzip.NewWriter(w)
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		return to.Close()
	})
	if err != nil {
		return
	}
	info, err := os.Stat(packed)
	if err != nil {
		return
	}
	_ = os.Remove(s.path) // otherwise the next writer does
	s.path, s.size = packed, info.Size()
}

// tidy compresses segments that a killed writer had closed, and removes its leftovers.
func tidy(dir string, closed []segment) {
	for i := range closed {
		if closed[i].packed() {
			_ = os.Remove(strings.TrimSuffix(closed[i].path, packedSuffix))
		}
		closed[i].pack()
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "."+segmentPrefix+"*"+atomicfile.Suffix))
	for _, part := range parts {
		_ = os.Remove(part)
	}
}
