package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// tone is the colour of a verdict.
type tone string

const (
	toneGood    tone = "1;32" // bold green
	toneUnclear tone = "1;33" // bold yellow
	toneBad     tone = "1;31" // bold red
)

// coloured reports whether output may have colours: it goes to a terminal that has them, and the
// user does not forbid them (https://no-color.org).
func coloured(w io.Writer) bool {
	f, is := w.(*os.File)
	return is && term.IsTerminal(int(f.Fd())) && colourAllowed(os.Getenv)
}

func colourAllowed(variable func(string) string) bool {
	return variable("NO_COLOR") == "" && variable("TERM") != "dumb"
}

// paint a text in a tone, if the output may have colours.
func paint(w io.Writer, t tone, text string) string {
	if text == "" || t == "" || !coloured(w) {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// writeWithVerdict writes what another function writes, with the verdict in it, a whole line,
// in its tone.
func writeWithVerdict(w io.Writer, verdict string, t tone, write func(io.Writer) error) error {
	if !coloured(w) {
		return write(w)
	}
	var b strings.Builder
	err := write(&b)
	_, fault := io.WriteString(w, strings.Replace(b.String(), verdict+"\n", paint(w, t, verdict)+"\n", 1))
	if err == nil {
		err = fault
	}
	return err
}

// printVerdict prints the line that a result begins with.
func printVerdict(w io.Writer, t tone, format string, args ...any) error {
	_, err := fmt.Fprintln(w, paint(w, t, fmt.Sprintf(format, args...)))
	return err
}
