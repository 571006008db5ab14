package workload

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLine bounds the memory of one line. The longest rows of the public traces, 1,440 minute
// columns, are about 10 kB.
const maxLine = 1 << 20

// lines reads a text line by line in bounded memory, unpacking gzip by its magic number.
// Malformed text becomes faults.
type lines struct {
	in     *bufio.Reader
	faults *Faults
	long   []byte   // a line longer than the buffer
	ahead  [][]byte // lines that were peeked and not yet consumed
	number int      // of the line last returned
	ended  bool
}

func newLines(r io.Reader, faults *Faults) *lines {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			faults.add(0, "gzip", "", "must be a whole gzip file: "+gzipTrouble(err))
			return &lines{faults: faults, ended: true}
		}
		in = bufio.NewReaderSize(unpacked, 1<<16)
	}
	l := &lines{in: in, faults: faults}
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		in.Discard(3)
	}
	return l
}

// peek returns copies of up to n lines without consuming them.
func (l *lines) peek(n int) [][]byte {
	for len(l.ahead) < n {
		line, ok := l.read()
		if !ok {
			break
		}
		l.ahead = append(l.ahead, bytes.Clone(line))
	}
	return l.ahead[:min(n, len(l.ahead))]
}

// next returns the next line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, bool) {
	var line []byte
	if len(l.ahead) > 0 {
		line, l.ahead = l.ahead[0], l.ahead[1:]
	} else {
		var ok bool
		if line, ok = l.read(); !ok {
			return nil, false
		}
	}
	l.number++
	return line, true
}

func (l *lines) read() ([]byte, bool) {
	if l.ended {
		return nil, false
	}
	line, err := l.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.readLong(line)
	}
	if err != nil {
		l.ended = true
		if err != io.EOF {
			// A truncated line is not a row.
			l.faults.add(l.number+len(l.ahead)+1, "", "", trouble(err))
			return nil, false
		}
		if len(line) == 0 {
			return nil, false
		}
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), true
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes: must be a text table with one row a line", maxLine)

func (l *lines) readLong(begin []byte) ([]byte, error) {
	l.long = append(l.long[:0], begin...)
	for {
		more, err := l.in.ReadSlice('\n')
		l.long = append(l.long, more...)
		if len(l.long) > maxLine {
			return nil, errLongLine
		}
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
	}
}

func trouble(err error) string {
	switch {
	case errors.Is(err, errLongLine):
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return "must be a whole gzip file: " + gzipTrouble(err)
	}
	return "cannot be read: " + err.Error()
}

func gzipTrouble(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it is truncated"
	case errors.Is(err, gzip.ErrChecksum):
		return "its checksum is wrong"
	}
	return err.Error()
}

// notText reports where a line is not UTF-8: the position and value of the byte.
func notText(line []byte) (place, value string, bad bool) {
	if utf8.Valid(line) {
		return "", "", false
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size <= 1 {
			return fmt.Sprintf("byte %d", at+1), fmt.Sprintf("0x%02x", line[at]), true
		}
		at += size
	}
}

const wantText = "must be UTF-8 text"

// splitRow splits a line of comma-separated values into fields, reusing the slice. A quoted
// field may contain commas and doubled quotes; a quote that is not closed on its line is an
// error, since no trace has line breaks inside a field.
func splitRow(line []byte, fields [][]byte) ([][]byte, error) {
	fields = fields[:0]
	for {
		if len(line) > 0 && line[0] == '"' {
			field, rest, err := quotedField(line)
			if err != nil {
				return fields, err
			}
			fields = append(fields, field)
			if rest == nil {
				return fields, nil
			}
			line = rest
			continue
		}
		comma := bytes.IndexByte(line, ',')
		if comma < 0 {
			return append(fields, line), nil
		}
		fields = append(fields, line[:comma])
		line = line[comma+1:]
	}
}

var errQuote = errors.New("a field in quotes must end with a quote, then a comma or the end of the line")

// quotedField splits one quoted field off a line; rest is nil at its end.
func quotedField(line []byte) (field, rest []byte, err error) {
	inside := line[1:]
	for i := 0; i < len(inside); i++ {
		if inside[i] != '"' {
			continue
		}
		if i+1 < len(inside) && inside[i+1] == '"' {
			i++
			continue
		}
		field = inside[:i]
		if bytes.IndexByte(field, '"') >= 0 {
			field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
		}
		switch after := inside[i+1:]; {
		case len(after) == 0:
			return field, nil, nil
		case after[0] == ',':
			return field, after[1:], nil
		}
		return nil, nil, errQuote
	}
	return nil, nil, errQuote
}
