package simulate

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/sim"
)

// family is one metric family: OpenMetrics wants its series together.
type family struct {
	name, kind, help string
	series           []*series // in order of appearance
	index            map[string]*series
}

// series has one value per scrape from its first to its last. Scrapes at which
// it was not there are NaN: the text leaves them out.
type series struct {
	name   string // with labels
	first  int    // scrape
	values []float64
}

func (r *Exposition) family(name, kind, help string) *family {
	f, known := r.byName[name]
	if !known {
		f = &family{name: name, kind: kind, help: help, index: map[string]*series{}}
		r.byName[name] = f
		r.families = append(r.families, f)
	}
	return f
}

// add keeps the value of one series at the present scrape. A counter never goes
// down by rounding: Prometheus would take it for a restart.
func (r *Exposition) add(f *family, suffix string, value float64, labels ...string) {
	name := seriesName(f.name+suffix, labels)
	s, known := f.index[name]
	now := len(r.times) - 1
	if !known {
		s = &series{name: name, first: now}
		f.index[name] = s
		f.series = append(f.series, s)
	}
	for s.first+len(s.values) < now {
		s.values = append(s.values, math.NaN())
	}
	if n := len(s.values); n > 0 && f.kind != "gauge" && value < s.values[n-1] {
		value = s.values[n-1]
	}
	s.values = append(s.values, value)
}

// seriesName puts labels, given as name and value by turns, behind a name.
func seriesName(name string, labels []string) string {
	var b strings.Builder
	b.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(labels[i])
		b.WriteByte('=')
		b.WriteString(strconv.Quote(labels[i+1]))
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

func (r *Exposition) writeText(w io.Writer) error {
	stamps := make([]string, len(r.times))
	for i, at := range r.times {
		t := sim.Time(at)
		stamps[i] = strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
	}
	b := bufio.NewWriterSize(w, 1<<16)
	var number []byte
	for _, f := range r.families {
		b.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + f.kind + "\n")
		for _, s := range f.series {
			for i, v := range s.values {
				if math.IsNaN(v) {
					continue
				}
				number = strconv.AppendFloat(number[:0], v, 'g', -1, 64)
				b.WriteString(s.name)
				b.WriteByte(' ')
				b.Write(number)
				b.WriteByte(' ')
				b.WriteString(stamps[s.first+i])
				b.WriteByte('\n')
			}
		}
	}
	b.WriteString("# EOF\n")
	return b.Flush() // the first error of any write
}
