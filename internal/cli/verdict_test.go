package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what is written to user is read from program's other end.
func terminal(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return program, user
}

func TestVerdictsAreColouredOnATerminalOnly(t *testing.T) {
	text := func(w io.Writer) error { _, err := io.WriteString(w, "SLO met.\nand the rest\n"); return err }
	const plain, green = "SLO met.\nand the rest\n", "\x1b[1;32mSLO met.\x1b[0m\nand the rest\n"
	for _, row := range []struct{ name, noColour, term, want string }{
		{"a terminal", "", "xterm", green},
		{"NO_COLOR", "1", "xterm", plain},
		{"a dumb terminal", "", "dumb", plain},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", row.noColour)
			t.Setenv("TERM", row.term)
			program, user := terminal(t)
			if err := writeWithVerdict(program, "SLO met.", toneGood, text); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(row.want)+2) // a terminal ends its lines with two characters
			if _, err := io.ReadFull(user, got); err != nil {
				t.Fatal(err)
			}
			if s := strings.ReplaceAll(string(got), "\r", ""); s != row.want {
				t.Errorf("%q, want %q", s, row.want)
			}
		})
	}
	var b bytes.Buffer
	if err := writeWithVerdict(&b, "SLO met.", toneGood, text); err != nil || b.String() != plain {
		t.Errorf("off a terminal: %q, %v", b.String(), err)
	}
}
