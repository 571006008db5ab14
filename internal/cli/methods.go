package cli

import (
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

// The learned rivals are methods of the lab.
func init() { policy.Register(trainer.Methods()...) }
