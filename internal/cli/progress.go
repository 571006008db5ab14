package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress tells on stderr how far something is: a bar on a terminal, a line
// every ten seconds elsewhere, and nothing at all of what is over within two
// seconds.
type progress struct {
	w        io.Writer
	terminal bool
	what     string
	from     float64 // share that was done before it began
	began    time.Time
	shown    time.Time
	now      func() time.Time
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, what: what, now: time.Now}
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

// stages is at for work of several parts, which it names.
func (p *progress) stages() func(share float64, part string) {
	whole := p.what
	return func(share float64, part string) {
		p.what = whole + ", " + part
		p.at(share)
	}
}

// at shows that a share of the work is done, if it is time to.
func (p *progress) at(share float64) {
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

// done wipes the bar away.
func (p *progress) done() {
	if p.terminal && p.shown != p.began {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
