package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// SimulationVersion is raised with every change that gives a run another result:
// the engines', the control plane's, a policy's. What was run under another one
// is run again.
const SimulationVersion = 1

// identity is everything that determines a run. Names are not in it: an
// application with another content is another one, whatever it is called.
type identity struct {
	Version  int
	App      *loadline.App // its SLOs included
	Load     *workload.Workload
	Policy   string
	Perturb  simulate.Perturb
	Engine   string
	CPU      sim.CPUModel
	Duration time.Duration
	WarmUp   time.Duration
	Seed     uint64
	Extra    any `json:",omitempty"` // of what is prepared rather than run
}

// digest is short enough for a file name and long enough never to meet another.
func digest(what any) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", fmt.Errorf("name a run: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]), nil
}

func keyOf(s simulate.Spec, load *workload.Workload, extra any) (string, error) {
	nameless := *load
	nameless.Name = ""
	return digest(identity{
		Version: SimulationVersion, App: s.App, Load: &nameless, Policy: s.Policy, Perturb: s.Perturb, Engine: s.Engine,
		CPU: s.CPU, Duration: s.Duration, WarmUp: s.WarmUp, Seed: s.Seed, Extra: extra,
	})
}
