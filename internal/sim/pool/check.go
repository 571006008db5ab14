package pool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate reports every fault of the cluster.
func (c Cluster) Validate() error {
	var faults []error
	for i, p := range c.Pools {
		faults = append(faults, about("pool "+p.Name, p.explicit().faults()))
		if slices.ContainsFunc(c.Pools[:i], func(o Pool) bool { return o.Name == p.Name }) {
			faults = append(faults, fmt.Errorf("two pools are called %q: give one of them another name with name=", p.Name))
		}
	}
	faults = append(faults, about("neighbours", c.Neighbours.faults()), about("prices", c.Prices.faults()))
	return errors.Join(faults...)
}

// faults of a pool with explicit defaults.
func (p Pool) faults() []error {
	faults := checked(&p, poolOptions)
	if p.Elastic {
		faults = append(faults, checked(&p, elasticOptions)...)
		if p.BatchMax < p.BatchIdle {
			faults = append(faults, fmt.Errorf("batch-max=%v: must be at least batch-idle, which is %v", p.BatchMax, p.BatchIdle))
		}
	} else {
		faults = append(faults, checked(&p, fixedOptions)...)
	}
	if len(p.Types) == 0 {
		faults = append(faults, errors.New("it has no instance type"))
	}
	if !p.Elastic && len(p.Types) > 1 {
		faults = append(faults, fmt.Errorf("it has %d instance types: a fixed pool must have one", len(p.Types)))
	}
	for i := range p.Types {
		t := &p.Types[i]
		wrong := checked(t, typeOptions)
		reserved := ReservedFor(*t)
		if len(wrong) == 0 && (reserved.Cores+p.Daemons.Cores >= t.Cores || reserved.Memory+p.Daemons.Memory >= t.Memory) {
			wrong = append(wrong, fmt.Errorf("nothing is left for pods: of %s cores and %s the system reserves %.3g and %s, and DaemonSets "+
				"request %.3g and %s", formatNumber(t.Cores), formatMemory(float64(t.Memory)), reserved.Cores,
				formatMemory(float64(reserved.Memory)), p.Daemons.Cores, formatMemory(float64(p.Daemons.Memory))))
		}
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf("type %s: %w", t.Name, err))
		}
	}
	return faults
}

// String describes the cluster in tables; "" is the application's own nodes, without neighbours
// and at the default prices.
func (c Cluster) String() string {
	var all []string
	for _, p := range c.Pools {
		all = append(all, "pool "+p.String())
	}
	if text := c.Neighbours.String(); text != "" {
		all = append(all, "neighbours "+text)
	}
	if text := c.Prices.String(); text != "" {
		all = append(all, "prices "+text)
	}
	return strings.Join(all, "; ")
}
