package papers

import (
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

func init() { policy.Register(trainer.Methods()...) }
