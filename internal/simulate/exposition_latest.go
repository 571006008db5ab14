package simulate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteLatest writes the last scrape as exporters do: without timestamps. Families are those whose names begin with one of the
// prefixes; without any, all. Earlier scrapes are dropped, so that memory is
// bounded.
func (r *Exposition) WriteLatest(w io.Writer, prefixes ...string) error {
	if len(r.times) == 0 {
		return fmt.Errorf("nothing was scraped of %s", r.app.Name)
	}
	r.forget()
	b := bufio.NewWriterSize(w, 1<<16)
	for _, f := range r.families {
		if len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.name, p) }) {
			continue
		}
		b.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + f.kind + "\n")
		for _, s := range f.series {
			b.WriteString(s.name + " " + strconv.FormatFloat(s.values[0], 'g', -1, 64) + "\n")
		}
	}
	b.WriteString("# EOF\n")
	return b.Flush() // the first error of any write
}

// forget drops every scrape but the last, and the series that were not in it.
func (r *Exposition) forget() {
	last := len(r.times) - 1
	for _, f := range r.families {
		f.series = slices.DeleteFunc(f.series, func(s *series) bool {
			if s.first+len(s.values)-1 < last {
				delete(f.index, s.name)
				return true
			}
			s.first, s.values = 0, append(s.values[:0], s.values[len(s.values)-1])
			return false
		})
	}
	r.times = append(r.times[:0], r.times[last])
}
