package policy

import (
	"errors"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// drpcKind is DRPC's students, each deciding for its own deployment at its own
// pace, or their teacher, who decides for all.
var drpcKind = kind{
	name:  "drpc",
	about: "DRPC: a tiny student for each service, taught by TD3, decides on replicas, CPU, memory and brownout at its own pace",
	options: func(*loadline.App) []Option {
		return []Option{
			{Key: "file", About: "model file, as loadline train --formulation drpc wrote it", check: func(s string) error {
				if s == "" {
					return errors.New("must be the path of a model file")
				}
				return nil
			}},
			{"who", "students", "students, or the teacher for all services at once", oneOf(string(drpc.TheStudents), string(drpc.TheTeacher))},
			{"least", "", "shortest time between two decisions of a student (the model's)", span(time.Second, time.Hour)},
			{"most", "", "longest time between them (the model's)", span(time.Second, 24*time.Hour)},
			{"delay", "1s", "from observing to applying: collection and decision", span(0, time.Hour)},
		}
	},
	make: func(app *loadline.App, v values) (loadline.Policy, error) {
		if !v.isSet("file") {
			return nil, errors.New("file is missing: write drpc:file=PATH, a file that loadline train --formulation drpc wrote")
		}
		m, err := drpc.Open(v["file"])
		if err != nil {
			return nil, err
		}
		work := drpc.Work{Who: drpc.Who(v["who"]), Pace: m.Pace, Delay: v.span("delay")}
		if v.isSet("least") {
			work.Pace.Least = v.span("least")
			work.Pace.Most = max(work.Pace.Most, work.Pace.Least)
		}
		if v.isSet("most") {
			work.Pace.Most = v.span("most")
		}
		return drpc.NewPolicy(m, app, work)
	},
}
