package decisionlog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/loadline/loadline"
)

// line is what one line of a segment holds: an application or a decision.
type line struct {
	Version  int           `json:"v"`
	App      *loadline.App `json:"app,omitempty"`
	Decision *Record       `json:"decision,omitempty"`
}

// sumLength is that of the checksum and the blank after it.
const sumLength = 9

// longestLine bounds the memory for a file that is not a log.
const longestLine = 64 << 20

// ours is the beginning of every object of this version, so that the version need not be
// searched.
var ours = fmt.Appendf(nil, `{"v":%d,`, Version)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine writes a line with its checksum and newline.
func appendLine(into *bytes.Buffer, l *line) error {
	start := into.Len()
	into.WriteString("00000000 ")
	encoder := json.NewEncoder(into) // ends with a newline
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		into.Truncate(start)
		return fmt.Errorf("encode decision: %w", err)
	}
	written := into.Bytes()[start:]
	putSum(written, written[sumLength:len(written)-1])
	return nil
}

func putSum(into, text []byte) {
	sum := crc32.Checksum(text, castagnoli)
	hex.Encode(into, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// A FutureError means that a newer program wrote the log.
type FutureError struct {
	File    string
	Version int
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("%s is of version %d, and this program reads versions up to %d: read it with the loadline that wrote it, or a "+
		"newer one", e.File, e.Version, Version)
}

var (
	errSum      = errors.New("its checksum is wrong")
	errNotALine = errors.New("it is no record")
)

// checkLine returns the object of a line without its newline, if its checksum is correct.
func checkLine(text []byte) ([]byte, error) {
	if len(text) <= sumLength || text[sumLength-1] != ' ' {
		return nil, errNotALine
	}
	var want [8]byte
	putSum(want[:], text[sumLength:])
	if !bytes.Equal(want[:], text[:8]) {
		return nil, errSum
	}
	return text[sumLength:], nil
}

// parseLine reads the object of a complete line. The version is checked before
// anything else is read.
func parseLine(object []byte, file string) (*line, error) {
	if !bytes.HasPrefix(object, ours) {
		var v struct {
			Version int `json:"v"`
		}
		if err := json.Unmarshal(object, &v); err != nil {
			return nil, fmt.Errorf("it cannot be read: %w", err)
		}
		if v.Version > Version {
			return nil, &FutureError{file, v.Version}
		}
		if v.Version < Version {
			return nil, errNotALine
		}
	}
	var l line
	if err := json.Unmarshal(object, &l); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return &l, nil
}

// lines reads a segment line by line, of any length, and keeps at most
// longestLine of one.
type lines struct {
	r    *bufio.Reader
	text []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next line without its newline, valid until the next call, and its length with
// it. complete: it ends with a newline; without one it is the last.
func (l *lines) next() (text []byte, length int64, complete bool, err error) {
	l.text = l.text[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		length += int64(len(part))
		if len(l.text) <= longestLine {
			l.text = append(l.text, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(l.text, []byte{'\n'}), length, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && length > 0:
			return l.text, length, false, nil
		default:
			return nil, 0, false, err
		}
	}
}
