package modelfile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/nn"
)

// File is the content of a model file.
type File struct {
	Card   Card
	Arrays map[string][]float32 // without a network: an optimiser's state, a table

	tensors []nn.Tensor // by their full names
}

// arrayPrefix marks tensors that belong to no network.
const arrayPrefix = "array"

// New begins a file.
func New(card Card) *File {
	networks := map[string]nn.Design{}
	for name, d := range card.Networks {
		networks[name] = d
	}
	card.Networks = networks
	return &File{Card: card, Arrays: map[string][]float32{}}
}

// Add puts a network into the file, with a copy of its weights.
func (f *File) Add(name string, net *nn.Net) {
	f.Card.Networks[name] = net.Design()
	f.tensors = slices.DeleteFunc(f.tensors, func(t nn.Tensor) bool { return strings.HasPrefix(t.Name, name+".") })
	for _, t := range net.Tensors() {
		f.tensors = append(f.tensors, nn.Tensor{Name: name + "." + t.Name, Shape: slices.Clone(t.Shape), Data: slices.Clone(t.Data)})
	}
}

// Net builds a network of the file.
func (f *File) Net(name string) (*nn.Net, error) {
	design, ok := f.Card.Networks[name]
	if !ok {
		return nil, fmt.Errorf("model file has no network %q; it has %q", name, sortedKeys(f.Card.Networks))
	}
	var own []nn.Tensor
	held := 0
	for _, t := range f.tensors {
		if short, mine := strings.CutPrefix(t.Name, name+"."); mine {
			own = append(own, nn.Tensor{Name: short, Shape: t.Shape, Data: t.Data})
			held += len(t.Data)
		}
	}
	if err := checkDesign(design); err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	if least := leastWeights(design); least > held {
		return nil, fmt.Errorf("network %s: the architecture has at least %d weights, the file holds %d", name, least, held)
	}
	// Load replaces every weight, so that the seed does not matter.
	net, err := design.Build(nn.PyTorchUniform, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	if err := net.Load(own); err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	return net, nil
}

// Parameters counts the weights of all networks.
func (f *File) Parameters() int {
	n := 0
	for _, t := range f.tensors {
		n += len(t.Data)
	}
	return n
}

// all are the tensors of the file in the order in which they are written.
func (f *File) all() []nn.Tensor {
	all := slices.Clone(f.tensors)
	for _, name := range sortedKeys(f.Arrays) {
		all = append(all, nn.Tensor{Name: arrayPrefix + "." + name, Shape: []int{len(f.Arrays[name])}, Data: f.Arrays[name]})
	}
	slices.SortFunc(all, func(a, b nn.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// check compares the card with the tensors.
func (f *File) check() error {
	if err := f.Card.Validate(); err != nil {
		return err
	}
	for _, t := range f.tensors {
		network, _, _ := strings.Cut(t.Name, ".")
		if _, known := f.Card.Networks[network]; !known {
			return fmt.Errorf("tensor %q belongs to none of the networks %q", t.Name, sortedKeys(f.Card.Networks))
		}
	}
	for _, name := range sortedKeys(f.Card.Networks) {
		if _, err := f.Net(name); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(f.Arrays) {
		if !plainName(name) {
			return fmt.Errorf("array name %q must be letters, digits, - and _", name)
		}
		if !nn.Finite(f.Arrays[name]) {
			return fmt.Errorf("array %s holds values that are not finite", name)
		}
	}
	return nil
}
