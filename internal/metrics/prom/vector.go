package prom

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Series is one series of an answer for an instant.
type Series struct {
	Value  float64
	text   []byte // names and values of all labels
	labels []labelAt
}

// labelAt is where a label is in the text of a series.
type labelAt struct{ name, value [2]int }

// Label is the value of a label; "" = there is none. It is valid until the next series is read:
// clone it to keep it.
func (s *Series) Label(name string) string {
	for _, l := range s.labels {
		if string(s.text[l.name[0]:l.name[1]]) == name {
			return view(s.text[l.value[0]:l.value[1]])
		}
	}
	return ""
}

// view of bytes as a string, without a copy.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Limits of an answer: of one string, of the labels of a series and their number, and of the depth of
// values that are skipped.
const (
	maxText   = 128 << 10
	maxSeries = 256 << 10
	maxLabels = 1000
	maxDepth  = 100
)

// Faults of an answer. One that is cut short may be whole the next time.
var (
	errCut     = errors.New("the answer is cut short")
	errAnswer  = errors.New("the answer cannot be read")
	errNotJSON = fmt.Errorf("%w as the JSON of Prometheus", errAnswer)
	errLong    = fmt.Errorf("%w: %w", errTooLarge, errAnswer) // a part is, whatever the whole has
)

// vectorReader reads an answer for an instant as it arrives. Memory does not grow with the answer:
// one series is kept at a time.
type vectorReader struct {
	from     io.Reader
	buffer   []byte
	pos, end int
	key      []byte // the last name of a field, or a number
	series   Series
}

// readers that are not in use. Those that a long text has made large are not kept.
var readers = sync.Pool{New: func() any { return &vectorReader{buffer: make([]byte, 32<<10)} }}

const maxPooled = 16 << 10

// readVector calls each for every series of an answer. Series of native histograms have no value and
// are left out. What the server says about an error is returned as one.
func readVector(from io.Reader, each func(*Series)) error {
	r := readers.Get().(*vectorReader)
	r.from, r.pos, r.end = from, 0, 0
	defer func() {
		if r.from = nil; cap(r.series.text) <= maxPooled && cap(r.key) <= maxPooled {
			readers.Put(r)
		}
	}()
	success, kind := false, ""
	err := r.object(func() error {
		switch string(r.key) {
		case "status":
			text, err := r.string(r.key[:0])
			r.key, success = text, string(text) == "success"
			return err
		case "data":
			return r.object(func() error {
				switch string(r.key) {
				case "resultType":
					text, err := r.string(r.key[:0])
					r.key, kind = text, string(text)
					return err
				case "result":
					if kind != "" && kind != "vector" {
						return notVector(kind)
					}
					return r.array(func() error { return r.one(each) })
				}
				return r.skip(0)
			})
		}
		return r.skip(0)
	})
	switch {
	case err != nil:
		return err
	case !success, kind == "":
		return errNotJSON
	case kind != "vector":
		return notVector(kind)
	}
	return nil
}

func notVector(kind string) error { return fmt.Errorf("%w: it is a %s, not a vector", errAnswer, kind) }

// quick reads a series that is written as Prometheus does it, without white space and escapes, and that is in the
// buffer as a whole. Otherwise it returns false and has read nothing.
func (r *vectorReader) quick() bool {
	const begin, middle, end = `{"metric":{`, `},"value":[`, `"]}`
	b, at, s := r.buffer[r.pos:r.end], 0, &r.series
	has := func(text string) bool {
		if len(b)-at < len(text) || view(b[at:at+len(text)]) != text {
			return false
		}
		at += len(text)
		return true
	}
	// quoted is the end of a string whose first byte is at i; it is followed by at least one byte.
	quoted := func(i int) int {
		for ; i < len(b)-1; i++ {
			switch c := b[i]; {
			case c == '"':
				return i
			case c == '\\' || c < ' ':
				return -1
			}
		}
		return -1
	}
	if !has(begin) {
		return false
	}
	s.text, s.labels = s.text[:0], s.labels[:0]
	for at < len(b) && b[at] == '"' {
		name := quoted(at + 1)
		if name < 0 || len(b)-name < 4 || b[name+1] != ':' || b[name+2] != '"' {
			return false
		}
		value := quoted(name + 3)
		if value < 0 || len(s.labels) == maxLabels || value-at > maxText {
			return false
		}
		l := labelAt{name: [2]int{len(s.text), len(s.text) + name - at - 1}}
		s.text = append(s.text, b[at+1:name]...)
		l.value[0] = len(s.text)
		s.text = append(s.text, b[name+3:value]...)
		l.value[1] = len(s.text)
		s.labels = append(s.labels, l)
		at = value + 1
		if b[at] != ',' {
			break
		}
		if at++; at == len(b) || b[at] != '"' {
			return false
		}
	}
	if !has(middle) {
		return false
	}
	for at < len(b) && (b[at] >= '0' && b[at] <= '9' || b[at] == '.') { // the instant
		at++
	}
	if !has(`,"`) {
		return false
	}
	last := quoted(at)
	if last < 0 {
		return false
	}
	value, err := strconv.ParseFloat(view(b[at:last]), 64)
	if at = last; err != nil || !has(end) {
		return false
	}
	s.Value = value
	r.pos += at
	return true
}

// one series: {"metric": {...}, "value": [seconds, "value"]}.
func (r *vectorReader) one(each func(*Series)) error {
	if r.quick() {
		each(&r.series)
		return nil
	}
	s := &r.series
	s.text, s.labels = s.text[:0], s.labels[:0]
	found := false
	err := r.object(func() error {
		switch string(r.key) {
		case "metric":
			return r.object(func() error {
				l := labelAt{name: [2]int{len(s.text), len(s.text) + len(r.key)}}
				s.text = append(s.text, r.key...)
				start := len(s.text)
				text, err := r.string(s.text)
				s.text, l.value = text, [2]int{start, len(text)}
				s.labels = append(s.labels, l)
				if err == nil && (len(s.text) > maxSeries || len(s.labels) > maxLabels) {
					return fmt.Errorf("%w: a series has more than %d bytes or %d labels", errLong, maxSeries, maxLabels)
				}
				return err
			})
		case "value":
			at := 0
			return r.array(func() error {
				if at++; at != 2 {
					return r.skip(0)
				}
				text, err := r.string(r.key[:0])
				if r.key = text; err != nil {
					return err
				}
				found = true
				if s.Value, err = strconv.ParseFloat(view(text), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
					return fmt.Errorf("%w: a value is %q", errNotJSON, text)
				}
				return nil
			})
		}
		return r.skip(0)
	})
	if err == nil && found {
		each(s)
	}
	return err
}

// peek is the next byte that is no white space.
func (r *vectorReader) peek() (byte, error) {
	for {
		for ; r.pos < r.end; r.pos++ {
			switch c := r.buffer[r.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// fill reads on when the buffer is used up.
func (r *vectorReader) fill() error {
	n, err := r.from.Read(r.buffer)
	r.pos, r.end = 0, n
	switch {
	case n > 0:
		return nil // an error comes again
	case errors.Is(err, io.EOF):
		return errCut
	}
	return err
}

// next is the next byte, white space included.
func (r *vectorReader) next() (byte, error) {
	for r.pos == r.end {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	r.pos++
	return r.buffer[r.pos-1], nil
}

// expect a byte after white space.
func (r *vectorReader) expect(want byte) error {
	c, err := r.peek()
	if err == nil && c != want {
		return fmt.Errorf("%w: %q stands where %q is expected", errNotJSON, c, want)
	}
	r.pos++
	return err
}

// object calls field at each value, with its name in key.
func (r *vectorReader) object(field func() error) error {
	return r.list('{', '}', func() error {
		text, err := r.string(r.key[:0])
		if r.key = text; err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return field()
	})
}

// array calls element at each value.
func (r *vectorReader) array(element func() error) error { return r.list('[', ']', element) }

func (r *vectorReader) list(open, closing byte, element func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := r.peek()
		if err != nil {
			return err
		}
		if first && c == closing {
			r.pos++
			return nil
		}
		if err := element(); err != nil {
			return err
		}
		if c, err = r.peek(); err != nil {
			return err
		}
		switch r.pos++; c {
		case closing:
			return nil
		case ',':
		default:
			return fmt.Errorf("%w: %q stands where a list goes on", errNotJSON, c)
		}
	}
}

// string appends a JSON string to a text.
func (r *vectorReader) string(text []byte) ([]byte, error) {
	if err := r.expect('"'); err != nil {
		return text, err
	}
	for start := len(text); len(text)-start <= maxText; {
		// Up to the end, an escape or the end of the buffer at once.
		part := r.buffer[r.pos:r.end]
		n := 0
		for n < len(part) && part[n] != '"' && part[n] != '\\' && part[n] >= ' ' {
			n++
		}
		if n == len(part) {
			text = append(text, part...)
			if err := r.fill(); err != nil {
				return text, err
			}
			continue
		}
		text = append(text, part[:n]...)
		r.pos += n + 1
		switch part[n] {
		case '"':
			return text, nil
		case '\\':
			var err error
			if text, err = r.escape(text); err != nil {
				return text, err
			}
		default:
			return text, fmt.Errorf("%w: a string has the control character %q", errNotJSON, part[n])
		}
	}
	return text, fmt.Errorf("%w: a string is longer than %d bytes", errLong, maxText)
}

// escape appends what an escape sequence stands for.
func (r *vectorReader) escape(text []byte) ([]byte, error) {
	c, err := r.next()
	if err != nil {
		return text, err
	}
	switch c {
	case '"', '\\', '/':
		return append(text, c), nil
	case 'b':
		return append(text, '\b'), nil
	case 'f':
		return append(text, '\f'), nil
	case 'n':
		return append(text, '\n'), nil
	case 'r':
		return append(text, '\r'), nil
	case 't':
		return append(text, '\t'), nil
	case 'u':
		return r.unicode(text)
	}
	return text, fmt.Errorf("%w: unknown escape \\%c", errNotJSON, c)
}

// unicode appends the character of four hexadecimal digits, or of a surrogate pair of them. Half a
// pair is the replacement character, as encoding/json has it.
func (r *vectorReader) unicode(text []byte) ([]byte, error) {
	one, err := r.hex()
	if err != nil {
		return text, err
	}
	for utf16.IsSurrogate(one) {
		c, err := r.next()
		if err != nil {
			return text, err
		}
		if c != '\\' {
			r.pos--
			break
		}
		if c, err = r.next(); err != nil {
			return text, err
		}
		if c != 'u' {
			r.pos--
			return r.escape(utf8.AppendRune(text, utf8.RuneError))
		}
		two, err := r.hex()
		if err != nil {
			return text, err
		}
		if both := utf16.DecodeRune(one, two); both != utf8.RuneError {
			return utf8.AppendRune(text, both), nil
		}
		text, one = utf8.AppendRune(text, utf8.RuneError), two
	}
	return utf8.AppendRune(text, one), nil // a surrogate becomes the replacement character
}

func (r *vectorReader) hex() (rune, error) {
	var v rune
	for range 4 {
		c, err := r.next()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, fmt.Errorf("%w: %q is no hexadecimal digit", errNotJSON, c)
		}
	}
	return v, nil
}

// skip a value of any kind.
func (r *vectorReader) skip(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: values within more than %d others", errNotJSON, maxDepth)
	}
	c, err := r.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return r.object(func() error { return r.skip(depth + 1) })
	case '[':
		return r.array(func() error { return r.skip(depth + 1) })
	case '"':
		r.key, err = r.string(r.key[:0])
		return err
	}
	return r.word()
}

// word is a number, true, false or null.
func (r *vectorReader) word() error {
	r.key = r.key[:0]
	for len(r.key) < 64 {
		c, err := r.next()
		if err != nil {
			return err
		}
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			r.pos--
			break
		}
		r.key = append(r.key, c)
	}
	switch text := view(r.key); text {
	case "true", "false", "null":
		return nil
	default:
		if _, err := strconv.ParseFloat(text, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%w: %q is no value", errNotJSON, text)
		}
		return nil
	}
}
