package validate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printer writes text and aligned tables and keeps the first error.
type printer struct {
	w     io.Writer
	table *tabwriter.Writer
	first error
}

func newPrinter(w io.Writer) *printer { return &printer{w: w} }

func (p *printer) printf(format string, args ...any) {
	_, err := fmt.Fprintf(p.w, format, args...)
	p.note(err)
}

func (p *printer) row(cells ...string) {
	if p.table == nil {
		p.table = tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	}
	_, err := fmt.Fprintln(p.table, strings.Join(cells, "\t"))
	p.note(err)
}

// flush ends a table.
func (p *printer) flush() {
	if p.table != nil {
		p.note(p.table.Flush())
		p.table = nil
	}
}

func (p *printer) note(err error) {
	if p.first == nil {
		p.first = err
	}
}

func (p *printer) err() error {
	p.flush()
	return p.first
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }

func ms(v float64) string { return fmt.Sprintf("%.1f", v) }

func span(r [2]float64) string { return fmt.Sprintf("%.1f..%.1f", r[0], r[1]) }
