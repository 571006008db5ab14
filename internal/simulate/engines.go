package simulate

import (
	"time"

	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// Engines by name; the first is the default.
func Engines() []string { return []string{"event", "fluid"} }

// fluidStep is the fluid engine's step: the usual scrape interval would hide bursts, and
// shorter steps cost more than they add.
const fluidStep = 5 * time.Second

// newEngine makes the named engine; the name has been checked.
func newEngine(name string, cfg sim.Config) sim.Engine {
	if name == "fluid" {
		e := fluid.New(cfg, fluidStep)
		e.AddUsageNoise()
		return e
	}
	return event.New(cfg)
}
