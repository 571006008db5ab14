package policy

import (
	"errors"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// modelKind is a policy that was trained: its file says which one.
var modelKind = kind{
	name:  "model",
	about: "a trained policy from its model file",
	options: func(*loadline.App) []Option {
		return []Option{{Key: "file", Default: "", About: "model file, as loadline train or promote wrote it", check: func(s string) error {
			if s == "" {
				return errors.New("must be the path of a model file")
			}
			return nil
		}}}
	},
	make: func(app *loadline.App, v values) (loadline.Policy, error) {
		if !v.isSet("file") {
			return nil, errors.New("file is missing: write model:file=PATH, a file that loadline train wrote")
		}
		m, err := formulation.Open(v["file"])
		if err != nil {
			return nil, err
		}
		return formulation.NewPolicy(m, app)
	},
}
