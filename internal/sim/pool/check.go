package pool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
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
				roundMemory(reserved.Memory), p.Daemons.Cores, roundMemory(p.Daemons.Memory)))
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
	if text := QuotaString(c.Quota); text != "" {
		all = append(all, "quota "+text)
	}
	return strings.Join(all, "; ")
}

// CheckApp reports services of which no replica fits any node: they would be pending forever.
func (c Cluster) CheckApp(app *loadline.App) error {
	var nodes []Amount // that pods may have
	for _, n := range app.Nodes {
		nodes = append(nodes, Amount{n.Cores, n.Memory})
	}
	if len(c.Pools) > 0 {
		nodes = nil
	}
	for _, p := range c.Pools {
		for _, t := range p.Types {
			reserved := ReservedFor(t)
			nodes = append(nodes, Amount{t.Cores - reserved.Cores - p.Daemons.Cores, t.Memory - reserved.Memory - p.Daemons.Memory})
		}
	}
	most := Amount{}
	for i, n := range nodes {
		theirs := c.Neighbours.On(n, 0).Request
		nodes[i] = Amount{n.Cores - theirs.Cores, n.Memory - theirs.Memory}
		most = Amount{max(most.Cores, nodes[i].Cores), max(most.Memory, nodes[i].Memory)}
	}
	var faults []error
	for i := range app.Services {
		s := &app.Services[i]
		fits := func(n Amount) bool { return s.Size.CPURequest <= n.Cores+1e-9 && s.Size.MemoryRequest <= n.Memory }
		if len(nodes) > 0 && !slices.ContainsFunc(nodes, fits) {
			faults = append(faults, fmt.Errorf("a replica of %s requests %s cores and %s, and fits no node: the largest has %.4g cores and %s "+
				"for pods; choose larger nodes or fewer neighbours", s.Name, formatNumber(s.Size.CPURequest),
				formatMemory(float64(s.Size.MemoryRequest)), most.Cores, roundMemory(most.Memory)))
		}
	}
	return errors.Join(faults...)
}

// roundMemory is for messages.
func roundMemory(bytes int64) string { return fmt.Sprintf("%.1fGi", float64(bytes)/gib) }
