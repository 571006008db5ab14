package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Progress shows on stderr how far a command is: a bar on a terminal, a line every ten seconds
// elsewhere, and nothing for work that takes less than two seconds.
type Progress struct {
	w        io.Writer
	terminal bool
	what     string
	from     float64 // share done before the command began
	began    time.Time
	shown    time.Time
	now      func() time.Time
}

// NewProgress shows the progress of what is named.
func NewProgress(w io.Writer, what string) *Progress {
	p := &Progress{w: w, what: what, now: time.Now}
	if f, ok := w.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	p.began = p.now()
	p.shown = p.began
	return p
}

const (
	progressAfter = 2 * time.Second
	barEvery      = 200 * time.Millisecond
	lineEvery     = 10 * time.Second
	barWidth      = 30
)

// Stages is At for work of several parts, which it names.
func (p *Progress) Stages() func(share float64, part string) {
	whole := p.what
	return func(share float64, part string) {
		p.what = whole + ", " + part
		p.At(share)
	}
}

// At shows that a share of the work is done, if an update is due.
func (p *Progress) At(share float64) {
	now := p.now()
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	if now.Sub(p.began) < progressAfter || now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	elapsed := now.Sub(p.began)
	left := "?"
	if share > p.from {
		left = time.Duration(float64(elapsed) * (1 - share) / (share - p.from)).Round(time.Second).String()
	}
	if !p.terminal {
		fmt.Fprintf(p.w, "%s: %.0f %%, about %s left\n", p.what, 100*share, left)
		return
	}
	full := int(share * barWidth)
	fmt.Fprintf(p.w, "\r\x1b[K%s [%s%s] %3.0f %%, about %s left", p.what, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full),
		100*share, left)
}

// From sets the share that was done before the command began.
func (p *Progress) From(share float64) { p.from = share }

// Describe changes the name of the work that is shown.
func (p *Progress) Describe(what string) { p.what = what }

// Done removes the bar.
func (p *Progress) Done() {
	if p.terminal && p.shown != p.began {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
