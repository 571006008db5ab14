package learned

import (
	"context"

	"github.com/loadline/loadline/internal/apps"
)

// The data of MSARS: Sock Shop in ten releases and its five main chains.
const (
	ShopReleases = 10
	ShopChains   = 5
	// ShopUnseen is how many more releases there are that nothing is trained on.
	ShopUnseen = 6
	shopSeed   = 1
)

// Shop is Sock Shop with its releases, those that nothing is trained on last. The
// sixth of its chains is trained on neither: the other way through an order.
func Shop() (*ReleaseSet, error) { return ReleaseSetOf("sockshop") }

// ReleaseSetOf makes releases of an embedded application.
func ReleaseSetOf(name string) (*ReleaseSet, error) {
	m, err := apps.Load(name)
	if err != nil {
		return nil, err
	}
	return NewReleaseSet(m.App, ShopReleases+ShopUnseen, shopSeed), nil
}

// How often a chain of a release is drawn, with other sizes each time: with profiles
// that are true, and with those of another release each.
const (
	shopTrue = 4
	shopLate = 16
)

// ShopSubjects are what tasks to train on are about: with the profiles of the release
// that runs, or, late, with those of others that were there before.
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

// ShopValidation are what tasks to validate on are about: releases of their own, late
// with the profiles of the one before.
func ShopValidation(s *ReleaseSet, late bool) []Subject {
	return subjects(s, ShopReleases, ShopReleases+2, late)
}

// ShopTest are what tasks to test on are about: the releases that are left.
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

// Data is what splitters are trained on and judged by.
type Data struct {
	Train, Validation []Task
	Test              []Task // of releases that nothing else is of
}

// ShopData gathers the tasks of Sock Shop for a way. What fnn and gcn learn is one
// answer to what they see, so they see profiles that are right. meta learns to find out
// what it does not see: most of its tasks show the profiles of another release.
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
