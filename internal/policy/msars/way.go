package msars

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
	"github.com/loadline/loadline/internal/suggest"
)

// None does not split: every service must meet the users' SLO.
const None = "none"

// Ways to split the SLO, the paper's first.
func Ways() []string { return []string{"meta", "gcn", "parslo", None} }

// Learned says whether a way needs a network.
func Learned(way string) bool { return way == "meta" || way == "gcn" }

// CheckWay returns an error if there is none of this name.
func CheckWay(way string) error {
	for _, w := range Ways() {
		if w == way {
			return nil
		}
	}
	return fmt.Errorf("unknown way to split %q%s", way, suggest.Hint(way, Ways()))
}

// newSplitter of a way; the network is nil if it needs none.
func newSplitter(way string, net *learned.Model) (slosplit.Splitter, error) {
	switch {
	case way == "parslo":
		return slosplit.Parslo{}, nil
	case !Learned(way):
		return nil, CheckWay(way)
	case net == nil:
		return nil, fmt.Errorf("%s needs a network that splits: give one that loadline slo train --way %s wrote", way, way)
	case net.Way != way:
		return nil, fmt.Errorf("the network splits by %s, not by %s: give another, or that way", net.Way, way)
	case way == "meta":
		return &adapting{of: net, cache: map[string]*learned.Model{}}, nil
	}
	return net, nil
}

// adapting is a network that adapts to each path, and again when a release changes one of the
// path's profiles. It does not adapt to another size: the network sees its effect on the
// profile, and adapting takes a thousand times as long as splitting, since its samples must be
// solved first.
type adapting struct {
	of       *learned.Model
	cache    map[string]*learned.Model
	releases []int // by service: incremented with every detected change
	adapted  int
}

// Split splits the chain with the network adapted to its path.
func (a *adapting) Split(c *slosplit.Chain) (slosplit.Shares, error) {
	var key strings.Builder
	key.WriteString(c.Kind)
	for _, s := range c.Steps {
		key.WriteByte(' ')
		key.WriteString(strconv.Itoa(s.Service))
		if s.Service < len(a.releases) {
			key.WriteByte('.')
			key.WriteString(strconv.Itoa(a.releases[s.Service]))
		}
	}
	m := a.cache[key.String()]
	if m == nil {
		m = a.of
		samples := learned.Around(c, learned.AroundSamples, rand.New(rand.NewPCG(uint64(len(c.Steps)), 0)))
		if len(samples) == 0 {
			return m.Split(c) // currently infeasible: nothing to learn from
		}
		var err error
		if m, err = a.of.Adapt(samples, 0); err != nil {
			return nil, err
		}
		if len(a.cache) >= adaptedMost {
			clear(a.cache)
		}
		a.cache[key.String()] = m
		a.adapted++
	}
	return m.Split(c)
}

// adaptedMost is how many adapted networks are kept.
const adaptedMost = 256

// lenient splits in proportion where no split currently meets the SLO: the agent must still see
// which services are slowest. Chains that take no time by their model have no proportions and
// are split evenly.
type lenient struct{ of slosplit.Splitter }

// Split splits the chain.
func (l lenient) Split(c *slosplit.Chain) (slosplit.Shares, error) {
	shares, err := l.of.Split(c)
	var cannot *slosplit.Infeasible
	switch {
	case !errors.As(err, &cannot) && !errors.Is(err, profile.ErrAbsent):
		return shares, err
	case c.Whole > 0:
		return slosplit.Proportional{}.Split(c)
	}
	return slosplit.Even{}.Split(c)
}
