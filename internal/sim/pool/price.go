package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/internal/suggest"
)

// The default prices are those of GKE's N2 in us-central1, which OpenCost has as its defaults
// too.
const (
	defaultCoreHour = 0.031611
	defaultGiBHour  = 0.004237
	defaultCurrency = "USD"
)

// WithDefaults returns the prices with zero fields filled in.
func (p Prices) WithDefaults() Prices {
	if p.Currency == "" {
		p.Currency = defaultCurrency
	}
	if p.CoreHour == 0 {
		p.CoreHour = defaultCoreHour
	}
	if p.GiBHour == 0 {
		p.GiBHour = defaultGiBHour
	}
	return p
}

// Of is the price of a node of a type, per hour: by the type's name, else its own, else by its
// cores and memory.
func (p Prices) Of(t Type) float64 {
	if price, has := p.Instances[t.Name]; has {
		return price
	}
	if t.Price > 0 {
		return t.Price
	}
	p = p.WithDefaults()
	return t.Cores*p.CoreHour + float64(t.Memory)/gib*p.GiBHour
}

// Prices per hour are refused outside this range; 0 would be free, and every ranking by the bill
// would follow from that.
const lowPrice, highPrice = 1e-6, 10_000

// priceOptions by the names of their keys, which differ between flag and file.
func priceOptions(core, gib string) []option[Prices] {
	return []option[Prices]{
		{core, number, lowPrice, highPrice, func(p *Prices) float64 { return p.CoreHour }, func(p *Prices, x float64) { p.CoreHour = x }, true},
		{gib, number, lowPrice, highPrice, func(p *Prices) float64 { return p.GiBHour }, func(p *Prices, x float64) { p.GiBHour = x }, true},
	}
}

const currencyKey = "currency"

// ParsePrices reads "core=0.03,gib=0.004,m5.xlarge=0.2,currency=EUR". The error has every fault.
func ParsePrices(text string) (Prices, error) {
	var p Prices
	_, all, faults := fields(text, false)
	options := priceOptions("core", "gib")
	others, wrong := readFields(&p, all, options)
	faults = append(faults, wrong...)
	var instances []field
	for _, f := range others {
		if f.key == currencyKey {
			p.Currency = f.value
		} else if _, known := TypeNamed(f.key); known {
			instances = append(instances, f)
		} else {
			faults = append(faults, unknownKey(f.key, slices.Concat(keysOf(options), []string{currencyKey}, TypeNames())))
		}
	}
	faults = append(faults, p.readInstances(instances)...)
	faults = append(faults, p.faults()...)
	return p, about("prices", faults)
}

// ReadPrices reads a YAML file with the keys core_hour, gib_hour, currency, and instances: a map
// from the names of types to prices. The error has every fault.
func ReadPrices(text []byte, name string) (Prices, error) {
	var p Prices
	var all map[string]yaml.Node
	const want = "must be a map with the keys core_hour, gib_hour, currency and instances"
	if err := yaml.Unmarshal(text, &all); err != nil {
		return p, fmt.Errorf("prices in %s: %s: %w", name, want, err)
	}
	if len(all) == 0 {
		return p, fmt.Errorf("prices in %s: the file is empty, %s", name, want)
	}
	options := priceOptions("core_hour", "gib_hour")
	var plain, instances []field
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(all)) {
		node := all[key]
		if key != instancesKey {
			plain = append(plain, field{key, node.Value})
			continue
		}
		var byType map[string]string
		if err := node.Decode(&byType); err != nil {
			faults = append(faults, fmt.Errorf("line %d: instances must be a map from instance types to prices", node.Line))
		}
		for _, t := range slices.Sorted(maps.Keys(byType)) {
			instances = append(instances, field{t, byType[t]})
		}
	}
	others, wrong := readFields(&p, plain, options)
	faults = append(faults, wrong...)
	for _, f := range others {
		if f.key == currencyKey {
			p.Currency = f.value
		} else {
			faults = append(faults, unknownKey(f.key, append(keysOf(options), currencyKey, instancesKey)))
		}
	}
	faults = append(faults, p.readInstances(instances)...)
	faults = append(faults, p.faults()...)
	return p, about("prices in "+name, faults)
}

const instancesKey = "instances"

func (p *Prices) readInstances(all []field) (faults []error) {
	for _, f := range all {
		price, ok := parseNumber(f.value)
		if !ok {
			faults = append(faults, fmt.Errorf("%s=%s: must be a number from %g to %g", f.key, f.value, lowPrice, float64(highPrice)))
			continue
		}
		if p.Instances == nil {
			p.Instances = map[string]float64{}
		}
		p.Instances[f.key] = price
	}
	return faults
}

func (p Prices) faults() []error {
	faults := checked(&p, priceOptions("core", "gib"))
	if c := p.Currency; c != "" && (len(c) != 3 || strings.Trim(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		faults = append(faults, fmt.Errorf("currency=%s: must be three capital letters, such as EUR", c))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Instances)) {
		if _, known := TypeNamed(name); !known {
			faults = append(faults, fmt.Errorf("unknown instance type %q%s", name, suggest.Hint(name, TypeNames())))
		}
		if price := p.Instances[name]; !(price >= lowPrice && price <= highPrice) {
			faults = append(faults, fmt.Errorf("%s=%s: must be a number from %g to %g", name, formatNumber(price), lowPrice, float64(highPrice)))
		}
	}
	return faults
}

// String is the text of which ParsePrices makes the same prices; "" = the defaults.
func (p Prices) String() string {
	all := written(&p, &Prices{}, priceOptions("core", "gib"))
	for _, name := range slices.Sorted(maps.Keys(p.Instances)) {
		all = append(all, name+"="+formatNumber(p.Instances[name]))
	}
	if p.Currency != "" {
		all = append(all, currencyKey+"="+p.Currency)
	}
	return strings.Join(all, ",")
}
