// Package policy holds everything that can decide, one file each, and makes
// them by name: "hpa", "hpa:target=60,down-window=120s".
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// kind is one policy in the registry.
type kind struct {
	name    string
	about   string
	options func(app *loadline.App) []Option
	make    func(app *loadline.App, v values) (loadline.Policy, error)
}

// Option is one setting of a policy.
type Option struct {
	Key     string
	Default string // as it would be written; "" = unset
	About   string
	check   func(string) error
}

// kinds in the order in which they are listed.
var kinds = []kind{staticKind, hpaKind, kpaKind, vpaKind, hpaVPAKind, ursaKind, autothrottleKind, modelKind, drpcKind, coscalKind, firmKind, asarsaKind, msarsKind, clairvoyantKind}

// New makes a policy from its name and settings. Every fault is reported at
// once.
func New(spec string, app *loadline.App) (loadline.Policy, error) {
	name, settings, _ := strings.Cut(spec, ":")
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown policy %q%s", name, suggest.Hint(name, Names()))
	}
	k := kinds[i]
	v, err := parse(settings, k.options(app))
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	p, err := k.make(app, v)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return p, nil
}

// CheckSettings says what is wrong with a policy's name and settings, without opening
// the files that they name: for a model that is yet to be trained.
func CheckSettings(spec string, app *loadline.App) error {
	name, settings, _ := strings.Cut(spec, ":")
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return fmt.Errorf("unknown policy %q%s", name, suggest.Hint(name, Names()))
	}
	if _, err := parse(settings, kinds[i].options(app)); err != nil {
		return fmt.Errorf("policy %s: %w", name, err)
	}
	return nil
}

// Names of all policies.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Info is what help says of a policy.
type Info struct {
	Name, About string
	Options     []Option
}

// List describes all policies.
func List() []Info {
	var all []Info
	for _, k := range kinds {
		all = append(all, Info{k.name, k.about, k.options(&loadline.App{})})
	}
	return all
}

// values are the settings of a policy, all valid, defaults filled in.
type values map[string]string

// parse reads "key=value,key=value".
func parse(settings string, options []Option) (values, error) {
	v := values{}
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
			if err := options[i].check(value); err != nil {
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
