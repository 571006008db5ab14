package policy

import (
	"errors"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/msars"
)

// msarsKind is MSARS: the SLO divided among the services, and TD3 that steers by the
// parts.
var msarsKind = kind{
	name:  "msars",
	about: "MSARS: the SLO is divided among the services, anew when a profile, a size or the load changes, and TD3 scales each to its part; replicas first, then CPU, memory",
	options: func(*loadline.App) []Option {
		return []Option{
			{Key: "file", About: "model file, as loadline train --formulation msars wrote it", check: func(s string) error {
				if s == "" {
					return errors.New("must be the path of a model file")
				}
				return nil
			}},
			{"delay", "1s", "from observing to applying: collection and decision", span(0, time.Hour)},
		}
	},
	make: func(app *loadline.App, v values) (loadline.Policy, error) {
		if !v.isSet("file") {
			return nil, errors.New("file is missing: write msars:file=PATH, a file that loadline train --formulation msars wrote")
		}
		m, err := msars.Open(v["file"])
		if err != nil {
			return nil, err
		}
		return msars.NewPolicy(m, app, v.span("delay"))
	},
}
