package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// Option is one setting of a method.
type Option struct {
	Key     string
	Default string // as it would be written; "" = unset
	About   string
	Check   func(string) error
}

// fileKey is the setting that names a model file.
const fileKey = "file"

// Values are the settings of a policy, all valid, defaults filled in.
type Values map[string]string

// read the method and the settings of "name:key=value,key=value".
func read(spec string, app *loadline.App) (Method, Values, error) {
	name, settings, _ := strings.Cut(spec, ":")
	m, err := Named(name)
	if err != nil {
		return m, nil, err
	}
	v, err := parse(settings, m.options(app))
	if err != nil {
		return m, nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return m, v, nil
}

// parse reads "key=value,key=value".
func parse(settings string, options []Option) (Values, error) {
	v := Values{}
	for _, o := range options {
		v[o.Key] = o.Default
	}
	if strings.TrimSpace(settings) == "" {
		return v, nil
	}
	var faults []error
	seen := map[string]bool{}
	for _, field := range strings.Split(settings, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(field), "=")
		i := slices.IndexFunc(options, func(o Option) bool { return o.Key == key })
		switch {
		case !found:
			faults = append(faults, fmt.Errorf("%q must be key=value", field))
		case i < 0:
			faults = append(faults, fmt.Errorf("unknown setting %q%s", key, suggest.Hint(key, keysOf(options))))
		case seen[key]:
			faults = append(faults, fmt.Errorf("setting %q is given twice", key))
		default:
			if err := options[i].Check(value); err != nil {
				faults = append(faults, fmt.Errorf("%s=%s: %w", key, value, err))
			}
			v[key] = value
		}
		seen[key] = true
	}
	return v, errors.Join(faults...)
}

func keysOf(options []Option) []string {
	keys := make([]string, len(options))
	for i, o := range options {
		keys[i] = o.Key
	}
	return keys
}

// The checks report what a value must be; the getters below rely on it.

func notEmpty(s string) error {
	if s == "" {
		return errors.New("must be a path")
	}
	return nil
}

// DelayOption is the time from observing to applying, for methods that decide for a
// whole application.
func DelayOption() Option {
	return Option{Key: "delay", Default: "1s", About: "from observing to applying: collection and decision", Check: Span(0, time.Hour)}
}

// Number checks for a number within a range.
func Number(low, high float64) func(string) error {
	return func(s string) error {
		if v, err := strconv.ParseFloat(s, 64); err != nil || math.IsNaN(v) || v < low || v > high {
			return fmt.Errorf("must be a number from %v to %v", low, high)
		}
		return nil
	}
}

// Count checks for a whole number within a range.
func Count(low, high int) func(string) error {
	return func(s string) error {
		if v, err := strconv.Atoi(s); err != nil || v < low || v > high {
			return fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		return nil
	}
}

// Span checks for a duration within a range.
func Span(low, high time.Duration) func(string) error {
	return func(s string) error {
		if v, err := time.ParseDuration(s); err != nil || v < low || v > high {
			return fmt.Errorf("must be a time from %v to %v, like 15s", low, high)
		}
		return nil
	}
}

// OneOf checks for one of some words.
func OneOf(words ...string) func(string) error {
	return func(s string) error {
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// OrOff allows "off" beside what the check allows.
func OrOff(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "off" {
			return nil
		}
		if err := check(s); err != nil {
			return fmt.Errorf("%w, or off", err)
		}
		return nil
	}
}

// IsSet says whether a setting has a value.
func (v Values) IsSet(key string) bool { return v[key] != "" }

// Float is a setting's number.
func (v Values) Float(key string) float64 {
	f, _ := strconv.ParseFloat(v[key], 64)
	return f
}

// Int is a setting's whole number.
func (v Values) Int(key string) int {
	n, _ := strconv.Atoi(v[key])
	return n
}

// Span is a setting's duration.
func (v Values) Span(key string) time.Duration {
	d, _ := time.ParseDuration(v[key])
	return d
}
