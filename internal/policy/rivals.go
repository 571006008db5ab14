package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/lab/rivals"
)

// The rivals of DRPC that learn, each from its model file.
var (
	coscalKind = rivalKind(rivals.CoScalName, "CoScal: Q-learning over four levels of utilisation, with a GRU, every 5 min; replicas, CPU, memory, brownout")
	firmKind   = rivalKind(rivals.FIRMName, "FIRM: finds the culprit on the critical path, and DDPG changes one resource of it, every 5 s; replicas, CPU, memory")
	asarsaKind = rivalKind(rivals.ASARSAName, "A-SARSA: SARSA over the CPU and response time that ARIMA expects, every minute; replicas")
)

func rivalKind(name rivals.Name, about string) kind {
	return kind{
		name: string(name), about: about,
		options: func(*loadline.App) []Option {
			return []Option{
				{Key: "file", About: fmt.Sprintf("model file, as loadline train --formulation %s wrote it", name), check: func(s string) error {
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
				return nil, fmt.Errorf("file is missing: write %s:file=PATH, a file that loadline train --formulation %s wrote", name, name)
			}
			m, err := rivals.Open(name, v["file"])
			if err != nil {
				return nil, err
			}
			return rivals.New(m, app, v.span("delay"))
		},
	}
}
