package learned

import (
	"context"

	"github.com/loadline/loadline/internal/apps"
)

// The data of MSARS: Sock Shop in ten releases and its five main chains.
const (
	ShopReleases = 10
	ShopChains   = 5
	// ShopUnseen is the number of additional releases that are held out.
	ShopUnseen = 6
	shopSeed   = 1
)

// Shop is Sock Shop with its releases, the held-out ones last. The sixth of its chains is held
// out too: the other way through an order.
func Shop() (*ReleaseSet, error) { return ReleaseSetOf("sockshop") }

// ReleaseSetOf makes releases of an embedded application.
func ReleaseSetOf(name string) (*ReleaseSet, error) {
	m, err := apps.Load(name)
	if err != nil {
		return nil, err
	}
	return NewReleaseSet(m.App, ShopReleases+ShopUnseen, shopSeed), nil
}

// How often a chain of a release is drawn, with other sizes each time: with its true profiles,
// and with those of each other release.
const (
	shopTrue = 4
	shopLate = 16
)

// ShopSubjects are the subjects of training tasks: with the profiles of the running release,
// or, if late, with those of earlier ones.
func ShopSubjects(s *ReleaseSet, late bool) []Subject {
	var list []Subject
	draws := shopTrue
	if late {
		draws = shopLate
	}
	for draw := range draws {
		for _, of := range subjects(s, 0, ShopReleases, false) {
			if late {
				of.Profiled = (of.Release + 1 + draw%(ShopReleases-1)) % ShopReleases
			}
			list = append(list, of)
		}
	}
	return list
}

// ShopValidation are the subjects of validation tasks: separate releases, if late with the
// profiles of the one before.
func ShopValidation(s *ReleaseSet, late bool) []Subject {
	return subjects(s, ShopReleases, ShopReleases+2, late)
}

// ShopTest are the subjects of test tasks: the remaining releases.
func ShopTest(s *ReleaseSet, late bool) []Subject {
	return subjects(s, ShopReleases+2, ShopReleases+ShopUnseen, late)
}

func subjects(s *ReleaseSet, from, to int, late bool) []Subject {
	var list []Subject
	for release := from; release < to; release++ {
		known := release
		if late {
			known--
		}
		for chain := range ShopChains {
			list = append(list, Subject{s, chain, release, known})
		}
	}
	return list
}

// Data is the training, validation and test data of splitters.
type Data struct {
	Train, Validation []Task
	Test              []Task // of releases that are in no other part
}

// ShopData makes the tasks of Sock Shop for a way. fnn and gcn learn one answer for each input,
// so they get true profiles. meta learns to adapt to what its inputs do not show: most of its
// tasks have the profiles of another release.
func ShopData(ctx context.Context, way string, config DataConfig, progress func(share float64)) (*Data, error) {
	set, err := Shop()
	if err != nil {
		return nil, err
	}
	train, validation := ShopSubjects(set, false), ShopValidation(set, false)
	if way == "meta" {
		train, validation = append(train, ShopSubjects(set, true)...), append(validation, ShopValidation(set, true)...)
	}
	test := ShopTest(set, false)
	all, err := Tasks(ctx, append(append(append([]Subject{}, train...), validation...), test...), config, progress)
	if err != nil {
		return nil, err
	}
	n, v := len(train), len(train)+len(validation)
	return &Data{Train: all[:n], Validation: all[n:v], Test: all[v:]}, nil
}
