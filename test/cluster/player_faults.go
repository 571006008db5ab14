package cluster

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// distort changes a page of metrics like a faulty exporter.
func (f Fault) distort(page []byte, now time.Time) []byte {
	switch f {
	case Empty:
		if bytes.HasSuffix(page, []byte("# EOF\n")) {
			return []byte("# EOF\n")
		}
		return nil
	case NotANumber:
		return eachSample(page, func(series, _ string, _ bool) string { return series + " NaN" })
	case Zero:
		return eachSample(page, func(series, _ string, _ bool) string { return series + " 0" })
	case Old:
		return at(page, now.Add(-time.Hour))
	case Behind:
		return at(page, now.Add(-30*time.Second))
	case Ahead:
		return at(page, now.Add(90*time.Second))
	}
	return page
}

// at gives all samples a timestamp.
func at(page []byte, then time.Time) []byte {
	return eachSample(page, func(series, value string, openMetrics bool) string {
		if openMetrics {
			return fmt.Sprintf("%s %s %.3f", series, value, float64(then.UnixMilli())/1000)
		}
		return fmt.Sprintf("%s %s %d", series, value, then.UnixMilli())
	})
}

// eachSample rewrites the lines of a page that hold a sample.
func eachSample(page []byte, rewrite func(series, value string, openMetrics bool) string) []byte {
	openMetrics := bytes.HasSuffix(page, []byte("# EOF\n"))
	var b bytes.Buffer
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] != '#' {
			end := strings.LastIndexByte(line, '}') + 1
			if end == 0 {
				end = strings.IndexByte(line, ' ')
			}
			value, _, _ := strings.Cut(strings.TrimSpace(line[end:]), " ")
			line = rewrite(line[:end], value, openMetrics)
		}
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}
