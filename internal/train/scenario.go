package train

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Scenario is an application under a load: what a method is trained on.
type Scenario struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration // of the load
	Source   string        // describes the load, for the model's card
}
