package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// span is a duration on the command line that may also be given in days and
// weeks, as histories are: 14d, 1d12h, 2w.
type span time.Duration

// spanVar adds a flag of this kind.
func spanVar(flags *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	flags.Var((*span)(d), name, usage)
}

// lengthFlag is a span above zero: where zero stands for the default, a zero that is given must not
// silently become it.
type lengthFlag struct{ *span }

// LengthVar adds a flag for a length of time above zero, which may be given in days and weeks.
// Without the flag it is zero: the command's default.
func LengthVar(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	*d = 0
	flags.Var(lengthFlag{(*span)(d)}, name, usage)
}

func (l lengthFlag) Set(text string) error {
	d, err := parseSpan(text)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q must be above 0, such as 90m, 36h or 7d", text)
	}
	if err == nil {
		*l.span = span(d)
	}
	return err
}

func (s *span) Set(text string) error {
	d, err := parseSpan(text)
	if err != nil {
		return err
	}
	*s = span(d)
	return nil
}

func (s *span) Type() string { return "duration" }

// String is empty for 0, so that the help shows no default then.
func (s *span) String() string {
	switch d := time.Duration(*s); {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	default:
		return d.String()
	}
}

func parseSpan(text string) (time.Duration, error) {
	total, rest := 0.0, text
	for _, unit := range []struct {
		name  string
		hours float64
	}{{"w", 7 * 24}, {"d", 24}} {
		number, after, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n < 1e5) {
			return 0, fmt.Errorf("%q must be a duration such as 90m, 36h, 14d or 1d12h", text)
		}
		total += n * unit.hours * float64(time.Hour)
		rest = after
	}
	if rest == "" && text != "" {
		return time.Duration(total), nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q must be a duration such as 90m, 36h, 14d or 1d12h", text)
	}
	return time.Duration(total) + d, nil
}
