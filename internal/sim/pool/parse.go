package pool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// typeOptions describe one instance type.
var typeOptions = []option[Type]{
	{"cores", number, 0.1, 1024, func(t *Type) float64 { return t.Cores }, func(t *Type, x float64) { t.Cores = x }, false},
	{"memory", memoryUnit, 256 * mib, 32 << 40,
		func(t *Type) float64 { return float64(t.Memory) }, func(t *Type, x float64) { t.Memory = int64(x) }, false},
	{"price", number, 0.0001, 10_000, func(t *Type) float64 { return t.Price }, func(t *Type, x float64) { t.Price = x }, true},
	{"pods", count, 1, 1000, func(t *Type) float64 { return float64(t.MaxPods) }, func(t *Type, x float64) { t.MaxPods = int(x) }, false},
	{"cloud", word(cloudNames...), 0, 2,
		func(t *Type) float64 { return float64(t.Cloud) }, func(t *Type, x float64) { t.Cloud = Cloud(x) }, false},
	{"reserved-cpu", coreUnit, 0, 1024,
		func(t *Type) float64 { return ReservedFor(*t).Cores }, func(t *Type, x float64) { t.reserved().Cores = x }, false},
	{"reserved-memory", memoryUnit, 0, 32 << 40,
		func(t *Type) float64 { return float64(ReservedFor(*t).Memory) }, func(t *Type, x float64) { t.reserved().Memory = int64(x) }, false},
}

// reserved is a reservation that can be set without setting that of another type.
func (t *Type) reserved() *Amount {
	if t.Reserved == nil {
		t.Reserved = &Amount{}
	}
	return t.Reserved
}

// poolOptions describe every pool.
var poolOptions = []option[Pool]{
	{"daemons-cpu", coreUnit, 0, 1024,
		func(p *Pool) float64 { return p.Daemons.Cores }, func(p *Pool, x float64) { p.Daemons.Cores = x }, false},
	{"daemons-memory", memoryUnit, 0, 32 << 40,
		func(p *Pool) float64 { return float64(p.Daemons.Memory) }, func(p *Pool, x float64) { p.Daemons.Memory = int64(x) }, false},
	{"daemons-pods", count, 0, 100,
		func(p *Pool) float64 { return float64(p.DaemonPods) }, func(p *Pool, x float64) { p.DaemonPods = int(x) }, false},
	{"placement", word("least", "most"), 0, 1,
		func(p *Pool) float64 { return float64(p.Placement) }, func(p *Pool, x float64) { p.Placement = Placement(x) }, false},
	{"spread", word("no", "yes"), 0, 1, func(p *Pool) float64 {
		if p.Spread {
			return 1
		}
		return 0
	}, func(p *Pool, x float64) { p.Spread = x == 1 }, false},
}

// fixedOptions describe pools of a fixed number of nodes.
var fixedOptions = []option[Pool]{
	{"nodes", count, 1, 1000, func(p *Pool) float64 { return float64(p.Nodes) }, func(p *Pool, x float64) { p.Nodes = int(x) }, false},
}

// elasticOptions describe pools that grow and shrink.
var elasticOptions = []option[Pool]{
	{"start", span, 1, 3600,
		func(p *Pool) float64 { return p.Start.Mean.Seconds() }, func(p *Pool, x float64) { p.Start.Mean = spanOf(x) }, false},
	{"start-cv", number, 0, 5, func(p *Pool) float64 { return p.Start.CV }, func(p *Pool, x float64) { p.Start.CV = x }, false},
	{"max", count, 1, 10_000, func(p *Pool) float64 { return float64(p.Max) }, func(p *Pool, x float64) { p.Max = int(x) }, false},
	{"batch-idle", span, 0.001, 3600,
		func(p *Pool) float64 { return p.BatchIdle.Seconds() }, func(p *Pool, x float64) { p.BatchIdle = spanOf(x) }, false},
	{"batch-max", span, 0.001, 3600,
		func(p *Pool) float64 { return p.BatchMax.Seconds() }, func(p *Pool, x float64) { p.BatchMax = spanOf(x) }, false},
	{"consolidate", spanOrNever, 1, 86_400, func(p *Pool) float64 {
		if p.ConsolidateAfter < 0 {
			return -1
		}
		return p.ConsolidateAfter.Seconds()
	}, func(p *Pool, x float64) { p.ConsolidateAfter = max(spanOf(x), -time.Second) }, false},
	{"budget", number, 0.001, 1, func(p *Pool) float64 { return p.Budget }, func(p *Pool, x float64) { p.Budget = x }, false},
	{"evict-last", word("no", "yes"), 0, 1, func(p *Pool) float64 {
		if p.EvictLast {
			return 1
		}
		return 0
	}, func(p *Pool, x float64) { p.EvictLast = x == 1 }, false},
}

// unnamed is the name of a pool that has none.
const unnamed = "pool"

// ParsePool reads a pool: the name of one (see Names), "key=value,..." or a name and what is
// different: "bar", "cores=4,memory=16Gi,start=45s,price=0.17", "eks-4,max=20". Without
// nodes=N it is elastic. The error has every fault.
func ParsePool(text string) (Pool, error) {
	name, all, faults := fields(text, true)
	p := Pool{Name: unnamed, Elastic: true}.explicit()
	if name != "" {
		known := false
		if p, known = Named(name); !known {
			faults = append(faults, fmt.Errorf("unknown pool %q%s; or describe one: cores=4,memory=16Gi,start=45s,price=0.17",
				name, suggest.Hint(name, Names())))
		}
	}
	has := func(key string) bool { return hasKey(all, key) }
	others, wrong := readFields(&p, all, slices.Concat(poolOptions, fixedOptions, elasticOptions))
	faults = append(faults, wrong...)
	if has("nodes") {
		for _, o := range elasticOptions {
			if has(o.key) {
				faults = append(faults, fmt.Errorf("%s is of an elastic pool and nodes=%d makes it fixed: leave one of them out", o.key, p.Nodes))
			}
		}
		p = p.fixed()
	}
	if has("batch-idle") && !has("batch-max") {
		p.BatchMax = max(p.BatchMax, p.BatchIdle)
	}
	faults = append(faults, p.readTypes(others, name != "")...)
	if len(faults) == 0 {
		faults = p.faults()
	}
	return p, about(fmt.Sprintf("pool %q", text), faults)
}

// fixed is the pool without what only elastic ones have.
func (p Pool) fixed() Pool {
	return Pool{Name: p.Name, Types: p.Types, Nodes: p.Nodes, Daemons: p.Daemons, DaemonUse: p.DaemonUse,
		Placement: p.Placement, Spread: p.Spread}
}

// readTypes reads the fields about the pool's name and types.
func (p *Pool) readTypes(all []field, named bool) (faults []error) {
	var own []field // about each type
	given := map[string]bool{}
	custom := Type{}
	listed := false
	for _, f := range all {
		switch f.key {
		case "name":
			if _, taken := Named(f.value); taken || !isName(f.value) {
				faults = append(faults, fmt.Errorf("name=%s: must be letters, digits, - and _, and not that of a known pool", f.value))
			}
			p.Name = f.value
		case "type", "types":
			listed = true
			var wrong []error
			p.Types, wrong = readTypeNames(f)
			faults = append(faults, wrong...)
		default:
			own = append(own, f)
			given[f.key] = true
		}
	}
	others, wrong := readFields(&custom, own, typeOptions)
	faults = append(faults, wrong...)
	for _, f := range others {
		faults = append(faults, unknownKey(f.key, poolKeys()))
	}
	sized := given["cores"] || given["memory"]
	switch {
	case sized && listed:
		faults = append(faults, fmt.Errorf("cores and memory describe a type, and types names some: leave one of them out"))
	case sized && !(given["cores"] && given["memory"]):
		faults = append(faults, fmt.Errorf("cores and memory must be given together, such as cores=4,memory=16Gi"))
	case sized:
		p.Types = []Type{{Name: fmt.Sprintf("%sx%s", formatNumber(custom.Cores), formatMemory(float64(custom.Memory))),
			Cores: custom.Cores, Memory: custom.Memory, Cloud: custom.Cloud, MaxPods: defaultMaxPods}}
	case !listed && !named:
		faults = append(faults, fmt.Errorf("it has no instance type: give cores and memory, such as cores=4,memory=16Gi, or types"))
	case given["cloud"]:
		faults = append(faults, fmt.Errorf("cloud=%s: only for a type given by cores and memory; types with a name have theirs", custom.Cloud))
	}
	if given["reserved-cpu"] != given["reserved-memory"] {
		faults = append(faults, fmt.Errorf("reserved-cpu and reserved-memory must be given together"))
	}
	if given["price"] && len(p.Types) > 1 {
		faults = append(faults, fmt.Errorf("price=%s: only for one type, and the pool has %d; give prices by type with --prices",
			formatNumber(custom.Price), len(p.Types)))
	}
	for i := range p.Types {
		p.Types[i].override(custom, given)
	}
	return faults
}

// override sets what was given about every type of a pool.
func (t *Type) override(from Type, given map[string]bool) {
	if given["price"] {
		t.Price = from.Price
	}
	if given["pods"] {
		t.MaxPods = from.MaxPods
	}
	if from.Reserved != nil {
		reserved := *from.Reserved
		t.Reserved = &reserved
	}
}

func readTypeNames(f field) (all []Type, faults []error) {
	for _, name := range strings.Split(f.value, "+") {
		t, known := TypeNamed(name)
		switch {
		case !known:
			faults = append(faults, fmt.Errorf("%s: unknown instance type %q%s", f.key, name, suggest.Hint(name, TypeNames())))
		case slices.ContainsFunc(all, func(o Type) bool { return o.Name == name }):
			faults = append(faults, fmt.Errorf("%s: %q is given twice", f.key, name))
		default:
			all = append(all, t)
		}
	}
	return all, faults
}

func poolKeys() []string {
	return slices.Concat([]string{"name", "types"}, keysOf(typeOptions), keysOf(fixedOptions), keysOf(elasticOptions), keysOf(poolOptions))
}

func isName(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// String is the text of which ParsePool makes the same pool.
func (p Pool) String() string {
	p = p.explicit()
	base, named := Named(p.Name)
	var all []string
	switch {
	case named:
		all = append(all, p.Name)
	default:
		base = Pool{Name: unnamed, Elastic: true}.explicit()
		if p.Name != unnamed && p.Name != "" {
			all = append(all, "name="+p.Name)
		}
	}
	all = append(all, p.writtenTypes(base)...)
	if p.Elastic {
		all = append(all, written(&p, &base, elasticOptions)...)
	} else {
		all = append(all, written(&p, &Pool{}, fixedOptions)...)
	}
	return strings.Join(append(all, written(&p, &base, poolOptions)...), ",")
}

// writtenTypes are the fields about types, where they differ from another pool's.
func (p Pool) writtenTypes(base Pool) []string {
	same := func(a, b Type) bool { return a.Name == b.Name && a.Cores == b.Cores && a.Memory == b.Memory }
	if len(p.Types) == 0 {
		return nil
	}
	like := base.Types // what is there before prices, pods and reservations are given
	var all []string
	if !slices.EqualFunc(p.Types, base.Types, same) {
		var names []string
		like = nil
		for _, t := range p.Types {
			if known, is := TypeNamed(t.Name); is && same(known, t) {
				names, like = append(names, t.Name), append(like, known)
			}
		}
		if len(names) == len(p.Types) {
			all = append(all, "types="+strings.Join(names, "+"))
		} else {
			like = []Type{{Cores: p.Types[0].Cores, Memory: p.Types[0].Memory, MaxPods: defaultMaxPods}}
			all = append(all, written(&p.Types[0], &Type{}, typeOptions[:2])...)
		}
	}
	t, before := p.Types[0], like[0]
	for _, o := range typeOptions[2:] {
		if strings.HasPrefix(o.key, "reserved-") {
			if t.Reserved != nil {
				all = append(all, o.key+"="+o.unit.format(o.get(&t)))
			}
		} else if o.get(&t) != o.get(&before) {
			all = append(all, o.key+"="+o.unit.format(o.get(&t)))
		}
	}
	return all
}
