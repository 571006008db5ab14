package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/policy"
)

// Our HPA policy is compared with the original: Kubernetes' own controller, with fake clients
// and in fake time, must make the same decisions on the same pods, round by round. See
// hpaworld_test.go for the original's side and hparandom_test.go for the inputs.

const (
	hpaPeriod    = 15 * time.Second
	hpaWindow    = 15 * time.Second // that a sample covers
	hpaInit      = 5 * time.Minute
	hpaReadiness = 30 * time.Second
	hpaStabilise = 5 * time.Minute
)

// autoscaler is one autoscaler with its workload, on both sides.
type autoscaler struct {
	name  string
	rules rules
	app   *loadline.App
	ours  loadline.Policy

	replicas int   // of the original
	moved    bool  // by the original, in the last round
	round    round // the common input
	made     int   // our result
	gone     bool  // they have differed, and so does their state
}

// decide is our side.
func (a *autoscaler) decide(now time.Time) (int, string, error) {
	o := a.round.observation(now)
	proposal, err := a.ours.Decide(now, loadline.Situation{
		App: a.app, Window: []loadline.Observation{o},
		Allocation: []loadline.Allocation{{Replicas: a.replicas}}, InFlight: []loadline.Allocation{{Replicas: a.replicas}},
	})
	if errors.Is(err, loadline.ErrNoData) {
		return a.replicas, err.Error(), nil
	}
	if err != nil || len(proposal.Services) != 1 {
		return 0, "", fmt.Errorf("%d proposals: %w", len(proposal.Services), err)
	}
	p := proposal.Services[0]
	return p.Setting.Replicas.Or(a.replicas), p.Reason, nil
}

// newAutoscaler makes our side of rules.
func newAutoscaler(t *testing.T, name string, r rules, replicas int) *autoscaler {
	t.Helper()
	app := &loadline.App{Services: []loadline.Service{{Name: name, Bounds: loadline.Bounds{MinReplicas: r.min, MaxReplicas: r.max}}}}
	ours, err := policy.New(r.spec(), app)
	if err != nil {
		t.Fatalf("%s: %v", r.spec(), err)
	}
	return &autoscaler{name: name, rules: r, app: app, ours: ours, replicas: replicas}
}

// compare runs both sides for some rounds and returns how many decisions were compared, how
// many of them changed something, and the differences: at most one for each autoscaler, because
// after it their states differ.
func compare(t *testing.T, list []*autoscaler, rounds int, prepare func(*autoscaler)) (compared, moved int, differences []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, list)
		defer w.stop()
		// Half a period before each sync, so that the order of timers does not matter.
		time.Sleep(hpaPeriod / 2)
		for n := range rounds {
			sync := time.Now().Add(hpaPeriod / 2)
			expected := map[*autoscaler]string{}
			before := map[*autoscaler]int{}
			for _, a := range list {
				if a.gone {
					continue
				}
				prepare(a)
				replicas, reason, err := a.decide(sync)
				if err != nil {
					t.Fatal(err)
				}
				a.made, expected[a], before[a] = replicas, reason, a.replicas
				w.show(a, sync) // from here on it is the original's turn
			}
			time.Sleep(hpaPeriod)
			synctest.Wait()
			for _, a := range list {
				a.moved = a.replicas != before[a]
				if syncs := w.syncs(a); syncs != 1 {
					t.Fatalf("%s was looked at %d times in a round", a.name, syncs)
				}
				if a.gone {
					continue
				}
				compared++
				if a.moved {
					moved++
				}
				if a.replicas != a.made {
					a.gone = true
					differences = append(differences,
						fmt.Sprintf("round %d, %s, min %d, max %d: of %d replicas the original makes %d, we make %d (%s)\n  %s",
							n, a.rules.spec(), a.rules.min, a.rules.max, before[a], a.replicas, a.made, expected[a], a.round))
				}
			}
		}
	})
	return compared, moved, differences
}

// Thousands of random decisions with random rules: metrics, targets, tolerances, bounds,
// behaviour; pods that are pending, starting, ready, unready, without samples or draining; with
// manual scaling in between.
func TestHPAIsTheOriginal(t *testing.T) {
	compared, moved := 0, 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var list []*autoscaler
		for i := range 50 {
			r := randomRules(rng)
			list = append(list, newAutoscaler(t, fmt.Sprintf("a%d", i), r, 1+rng.IntN(12)))
		}
		n, m, differences := compare(t, list, 40, func(a *autoscaler) { a.prepare(rng) })
		compared, moved = compared+n, moved+m
		for _, d := range differences {
			t.Errorf("seed %d, %s", seed, d)
		}
	}
	t.Logf("%d decisions are the same, %d of them moved something", compared, moved)
	if compared < 10000 || moved < 2000 {
		t.Errorf("only %d decisions, %d of which moved something: nothing is proven", compared, moved)
	}
}

// HPAReplicas is the original's result for an external metric with a target average value of
// one: the HPA that KEDA makes for our trigger.
func TestHPAReplicasIsTheOriginal(t *testing.T) {
	r := rules{rps: 1000, min: 1, max: 1 << 30, upTolerance: -1, downTolerance: -1, behaviour: unlimited()}
	var list []*autoscaler
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		list = append(list, newAutoscaler(t, fmt.Sprintf("a%d", i), r, 1))
	}
	var wrong []string
	checked := 0
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, list)
		defer w.stop()
		time.Sleep(hpaPeriod / 2)
		for range 50 {
			want := map[*autoscaler]int{}
			what := map[*autoscaler]string{}
			for _, a := range list {
				current := 1 + rng.IntN(40)
				if rng.IntN(4) == 0 {
					current = 1 + rng.IntN(3000)
				}
				value := int64(float64(current) * 1000 * (0.8 + 0.4*rng.Float64()))
				switch rng.IntN(4) {
				case 0:
					value = rng.Int64N(int64(current) * 4000)
				case 1: // at the edges of the tolerance
					value = int64(current)*1100 + rng.Int64N(5) - 2
				case 2:
					value = int64(current)*900 + rng.Int64N(5) - 2
				}
				a.replicas, a.round = current, round{rate: value, status: current}
				w.show(a, time.Now())
				want[a] = max(1, kedascaler.HPAReplicas(value, current, kedascaler.DefaultHPATolerance))
				what[a] = fmt.Sprintf("%d thousandths at %d replicas", value, current)
			}
			time.Sleep(hpaPeriod)
			synctest.Wait()
			for _, a := range list {
				checked++
				if a.replicas != want[a] {
					wrong = append(wrong, fmt.Sprintf("%s: the original makes %d, HPAReplicas %d", what[a], a.replicas, want[a]))
				}
				w.syncs(a)
			}
		}
	})
	if len(wrong) > 0 {
		t.Errorf("%d of %d differ, such as\n%s", len(wrong), checked, strings.Join(wrong[:min(len(wrong), 10)], "\n"))
	}
	t.Logf("%d values", checked)
}

// overshoot: with the published value the original ends at the desired number, or above it by
// at most a tenth, never below.
func TestValueBeyondToleranceOnTheOriginal(t *testing.T) {
	r := rules{rps: 1000, min: 1, max: 1 << 30, upTolerance: -1, downTolerance: -1, behaviour: unlimited()}
	var list []*autoscaler
	for i := range 60 {
		list = append(list, newAutoscaler(t, fmt.Sprintf("a%d", i), r, 1))
	}
	var wrong []string
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, list)
		defer w.stop()
		time.Sleep(hpaPeriod / 2)
		rng := rand.New(rand.NewPCG(3, 4))
		for range 50 {
			desired := map[*autoscaler]int{}
			current := map[*autoscaler]int{}
			for _, a := range list {
				current[a] = 1 + rng.IntN(60)
				desired[a] = max(1, current[a]+rng.IntN(21)-10)
				value := kedascaler.ValueBeyondTolerance(desired[a], current[a], kedascaler.DefaultHPATolerance)
				a.replicas, a.round = current[a], round{rate: int64(value * 1000), status: current[a]}
				w.show(a, time.Now())
			}
			time.Sleep(hpaPeriod)
			synctest.Wait()
			for _, a := range list {
				w.syncs(a)
				from, want, got := current[a], desired[a], a.replicas
				most := want
				if want > from {
					most = max(want, from+from/10+1)
				} else if want < from {
					most = from
				}
				if got < want || got > most {
					wrong = append(wrong, fmt.Sprintf("%d wanted of %d: the original makes %d", want, from, got))
				}
			}
		}
	})
	if len(wrong) > 0 {
		t.Errorf("%d are wrong, such as\n%s", len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"))
	}
}

// full is a pod that has been ready for long and uses the given percentage of its request.
func full(percent int64) podRound {
	return podRound{kind: podReady, age: time.Hour, readyFor: time.Hour, cpu: 10 * percent, cpuRequest: 1000, memory: 1,
		memoryRequest: 1, busy: -1}
}

// Known differences of ours from the original, intended or for the original's own reasons. A
// row that no longer differs is removed.
func TestKnownDifferences(t *testing.T) {
	slow := func(up, down ratePolicy) [2]rule {
		return [2]rule{{policies: []ratePolicy{up}, pick: "max"}, {policies: []ratePolicy{down}, pick: "max"}}
	}
	fast := unlimited()
	pods := func(n int, p podRound) []podRound {
		var list []podRound
		for range n {
			list = append(list, p)
		}
		return list
	}
	silent := full(0)
	silent.kind, silent.cpu = podSilent, -1
	for _, row := range []struct {
		name             string
		rules            rules
		from             int
		rounds           []round
		original, weMake int
	}{
		{
			"without a behaviour field the original goes to four at first, or doubles; the documented default adds four",
			rules{cpu: 50, min: 1, max: 20, plain: true},
			1, []round{{pods: pods(1, full(1000))}}, 4, 5,
		},
		{
			"the original overwrites a step up that its own direction does not look back on any more, although the other one does",
			rules{cpu: 50, min: 1, max: 20, behaviour: slow(ratePolicy{2, false, 15}, ratePolicy{1, false, 120})},
			4, []round{{pods: pods(4, full(200))}, {pods: pods(6, full(50))}, {pods: pods(6, full(200))}, {pods: pods(8, full(1))}}, 5, 3,
		},
		{
			"a pod that runs, is not ready and has no sample is missing for the original, and pending for ours",
			rules{cpu: 80, min: 1, max: 20, behaviour: fast},
			2, []round{{pods: []podRound{full(40), silent}}}, 2, 1,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.rules.upTolerance, row.rules.downTolerance = -1, -1
			a := newAutoscaler(t, "a", row.rules, row.from)
			n := 0
			_, _, differences := compare(t, []*autoscaler{a}, len(row.rounds), func(a *autoscaler) {
				a.round = row.rounds[n]
				n++
			})
			if len(differences) == 0 {
				t.Fatal("they do not differ any more: take this row away")
			}
			if a.replicas != row.original || a.made != row.weMake || n != len(row.rounds) {
				t.Errorf("after %d rounds the original makes %d, we make %d; want %d and %d in round %d", n, a.replicas, a.made,
					row.original, row.weMake, len(row.rounds))
			}
		})
	}
}
