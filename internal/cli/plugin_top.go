package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadline/loadline/internal/console"
)

func newPluginTop() *cobra.Command {
	var f pluginFlags
	var every time.Duration
	var once bool
	c := &cobra.Command{
		Use:   "top",
		Short: "A live view of all applications, what needs attention first",
		Long: `Shows the applications that you may read, those with a missed SLO or something that needs
attention first, and renews itself. Ctrl-C ends it. Without a terminal, or with --once, it
prints one view. NO_COLOR turns colours off.`,
		Example: `  kubectl loadline top -A
  kubectl loadline top -A --once`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if every < time.Second {
				return Usagef("--every %v must be at least 1s", every)
			}
			if err := f.connect(); err != nil {
				return err
			}
			return f.top(c.Context(), c.OutOrStdout(), every, once)
		},
	}
	f.add(c.Flags(), true)
	c.Flags().DurationVar(&every, "every", 2*time.Second, "time between two views")
	c.Flags().BoolVar(&once, "once", false, "print one view and exit")
	return c
}

func (f *pluginFlags) top(ctx context.Context, w io.Writer, every time.Duration, once bool) error {
	width, colour := 100, false
	if file, is := w.(*os.File); is && term.IsTerminal(int(file.Fd())) {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = n
		}
		colour = coloured(w)
	} else {
		once = true
	}
	for {
		list, note, err := f.applications(ctx)
		if err != nil && (once || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			note = err.Error() // it may answer again
		}
		view := renderTop(list, note, time.Now(), width, colour)
		if once {
			_, err := io.WriteString(w, view)
			return err
		}
		if _, err := io.WriteString(w, "\x1b[H\x1b[2J"+view); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// renderTop is one view, at most so wide. Names come from the cluster: they are shown without
// control characters.
func renderTop(list []console.Application, note string, now time.Time, width int, colour bool) string {
	var calm, urgent []console.Application
	for _, a := range list {
		if a.SLOMet == "False" || len(a.Attention) > 0 {
			urgent = append(urgent, a)
		} else {
			calm = append(calm, a)
		}
	}
	var b strings.Builder
	line := func(style, text string) {
		text = fit(text, width)
		if colour && style != "" {
			text = "\x1b[" + style + "m" + text + "\x1b[0m"
		}
		b.WriteString(text + "\n")
	}
	line("1", fmt.Sprintf("%d applications, %d need attention  %s UTC", len(list), len(urgent), now.UTC().Format(time.TimeOnly)))
	if note != "" {
		line("2", note)
	}
	names := 11
	for _, a := range list {
		names = max(names, min(utf8.RuneCountInString(a.Namespace+"/"+a.Name), 32))
	}
	row := func(cells ...string) string {
		text := pad(cells[0], names)
		for i, size := range []int{9, 8, 8, 22, 6, 10} {
			text += "  " + pad(cells[i+1], size)
		}
		return strings.TrimRight(text+"  "+cells[7], " ")
	}
	line("4", row("APPLICATION", "MODE", "RUNG", "SLO", "LATENCY", "BUDGET", "COST/H", "SERVICES"))
	for i, a := range append(urgent, calm...) {
		style := ""
		switch {
		case a.SLOMet == "False":
			style = "31" // red
		case i < len(urgent):
			style = "33" // yellow
		}
		line(style, row(a.Namespace+"/"+a.Name, a.Mode, rungOf(&a), sloOf(&a), latencyOf(&a), budgetOf(&a), costOf(&a), orMinus(a.Moved)))
		for _, what := range a.Attention {
			line(style, "  "+what)
		}
	}
	return b.String()
}

// fit cuts a text to a width, and drops control characters.
func fit(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > width && width > 1 {
		return string(runes[:width-1]) + "…"
	}
	return text
}

func pad(text string, size int) string {
	text = fit(text, size)
	return text + strings.Repeat(" ", max(0, size-utf8.RuneCountInString(text)))
}
