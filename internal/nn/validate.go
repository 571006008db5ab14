package nn

import (
	"errors"
	"fmt"
	"slices"
)

// axis is the rows of a layer: one per sample, or one per item of a sample (a time step or a
// graph node).
type axis int

const (
	perSample axis = iota
	perItem
)

// Limits of a design: far beyond the use of this package, and small enough that a damaged file
// cannot exhaust the memory.
const (
	maxLayers = 1 << 10
	maxWidth  = 1 << 16
	maxParams = 1 << 26
)

var inputKinds = []Kind{KindInput, KindSequence, KindNodes}

// Validate reports every fault of the design at once.
func (d Design) Validate() error {
	_, err := d.axes()
	return err
}

// axes derives each layer's rows and checks the design.
func (d Design) axes() ([]axis, error) {
	var faults []error
	if len(d.Layers) == 0 || slices.Contains(inputKinds, d.Layers[len(d.Layers)-1].Kind) {
		faults = append(faults, errors.New("nn: a design needs a last layer that is not an input"))
	}
	if len(d.Layers) > maxLayers {
		return nil, fmt.Errorf("nn: a design of %d layers, must be at most %d", len(d.Layers), maxLayers)
	}
	rows := make([]axis, len(d.Layers))
	kinds := map[Kind]bool{}
	for i, l := range d.Layers {
		kinds[l.Kind] = true
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("nn: layer %d (%s): %s", i, l.Kind, fmt.Sprintf(format, args...)))
		}
		if l.Width < 1 || l.Width > maxWidth {
			fault("width is %d, must be 1 to %d", l.Width, maxWidth)
		}
		if !l.Activation.known() {
			fault("activation is %d, must be one of %q", uint8(l.Activation), activationNames)
		}
		if l.Activation != Identity && l.Kind != KindDense && l.Kind != KindNorm {
			fault("has no activation, but %v is given", l.Activation)
		}
		if slices.ContainsFunc(l.From, func(n Node) bool { return n < 0 || int(n) >= i }) {
			fault("takes from %v, must be earlier layers", l.From)
			continue
		}
		var err error
		if rows[i], err = l.rows(d.Layers, rows); err != nil {
			fault("%v", err)
		}
	}
	faults = append(faults, itemFaults(kinds)...)
	return rows, errors.Join(faults...)
}

// itemFaults checks that layers over items have items of their kind.
func itemFaults(has map[Kind]bool) (faults []error) {
	check := func(wrong bool, what string) {
		if wrong {
			faults = append(faults, errors.New("nn: "+what))
		}
	}
	check(has[KindSequence] && has[KindNodes], "a design has time steps or graph nodes, not both")
	check((has[KindGRU] || has[KindLast]) && !has[KindSequence], "gru and last need a sequence")
	check(has[KindNeighbours] && !has[KindNodes], "neighbours need nodes")
	check(has[KindSpread] && !has[KindSequence] && !has[KindNodes], "spread needs a sequence or nodes")
	return faults
}

// rows checks the layer's inputs and returns its rows.
func (l Layer) rows(layers []Layer, rows []axis) (axis, error) {
	if slices.Contains(inputKinds, l.Kind) {
		if len(l.From) != 0 {
			return 0, errors.New("an input takes from nothing")
		}
		if l.Kind == KindInput {
			return perSample, nil
		}
		return perItem, nil
	}
	if len(l.From) == 0 || (len(l.From) > 1 && l.Kind != KindDense) {
		return 0, fmt.Errorf("takes from %d layers, must be one", len(l.From))
	}
	from := l.From[0]
	needItems := func(result axis) (axis, error) {
		if rows[from] != perItem {
			return result, errors.New("takes from a layer without time steps or nodes")
		}
		return result, nil
	}
	wantWidth := layers[from].Width
	result, err := rows[from], error(nil)
	switch l.Kind {
	case KindDense:
		if slices.ContainsFunc(l.From, func(n Node) bool { return rows[n] != rows[from] }) {
			return result, errors.New("mixes rows per sample with rows per item; use Spread")
		}
		return result, nil
	case KindGRU:
		return needItems(perItem)
	case KindLast:
		result, err = needItems(perSample)
	case KindNeighbours:
		result, err = needItems(perItem)
	case KindSpread:
		result = perItem
		if rows[from] != perSample {
			err = errors.New("takes from a layer that has items already")
		}
	case KindDueling:
		wantWidth--
	case KindNorm, KindSoftmax:
	default:
		return result, errors.New("unknown kind")
	}
	if l.Width != wantWidth {
		err = errors.Join(err, fmt.Errorf("width is %d, must be %d", l.Width, wantWidth))
	}
	return result, err
}
