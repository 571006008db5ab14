package kedascaler

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/loadline/loadline"
	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// ask is what KEDA does at every poll: the metric, then whether it is active.
func ask(ctx context.Context, c pb.ExternalScalerClient, r *pb.ScaledObjectRef) (value float64, on bool, err error) {
	m, err := c.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: r, MetricName: metricName})
	if err != nil {
		return 0, false, err
	}
	v := m.MetricValues[0]
	value = float64(v.MetricValue)
	if v.MetricValueFloat > 0 {
		value = v.MetricValueFloat
	}
	a, err := c.IsActive(ctx, r)
	return value, a.GetResult(), err
}

func TestAnswersFromTheLastGoodDecision(t *testing.T) {
	b, now := NewBoard(), newClock()
	b.SetReady(true)
	ctx, c := patient(t), client(t, serve(t, b, Options{Now: now.now}))
	if _, _, err := ask(ctx, c, ref); err == nil {
		t.Error("before any decision it answered")
	} else {
		wantCode(t, err, codes.NotFound)
	}
	for _, replicas := range []int{1, 7, 23, 4, 0, 5} {
		b.Post(app, map[string]Decision{"cart": {Replicas: replicas, Made: now.now()}})
		value, on, err := ask(ctx, c, ref)
		if err != nil || value != float64(replicas) || on != (replicas > 0) {
			t.Errorf("%d replicas: value %g, active %t, %v", replicas, value, on, err)
		}
		now.advance(time.Minute)
	}
}

func TestNotToKnowIsAnErrorAndNeverZero(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Board, *clock, *pb.ScaledObjectRef)
		code   codes.Code
		says   string
	}{
		{"nothing was decided", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) { b.Forget(app) }, codes.NotFound, "shop/main"},
		{"an unknown service", func(_ *Board, _ *clock, r *pb.ScaledObjectRef) { r.ScalerMetadata["service"] = "crat" }, codes.NotFound,
			`did you mean "cart"`},
		{"too long ago", func(_ *Board, now *clock, _ *pb.ScaledObjectRef) { now.advance(5*time.Minute + time.Second) },
			codes.Unavailable, "made 5m1s ago, valid for 5m0s"},
		{"a standby that is not ready", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) { b.SetReady(false) }, codes.Unavailable,
			"not ready"},
		{"a mode that does not act", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) {
			b.Post(app, map[string]Decision{"cart": {Replicas: 4, Made: noon, Withheld: "the mode is Recommend"}})
		}, codes.FailedPrecondition, "the mode is Recommend"},
		{"made at no time", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) {
			b.Post(app, map[string]Decision{"cart": {Replicas: 3}})
		}, codes.Unavailable, "its time is unknown"},
		{"made far in the future", func(_ *Board, now *clock, _ *pb.ScaledObjectRef) { now.advance(-time.Hour) }, codes.Internal,
			"clocks"},
		{"fewer than none", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) {
			b.Post(app, map[string]Decision{"cart": {Replicas: -1, Made: noon}})
		}, codes.Internal, "-1 replicas"},
		{"more than there can be", func(b *Board, _ *clock, _ *pb.ScaledObjectRef) {
			b.Post(app, map[string]Decision{"cart": {Replicas: math.MaxInt32 + 1, Made: noon}})
		}, codes.Internal, "replicas"},
		{"a slip in the metadata", func(_ *Board, _ *clock, r *pb.ScaledObjectRef) { r.ScalerMetadata["tolerence"] = "zero" },
			codes.InvalidArgument, `did you mean "tolerance"`},
		{"no ScaledObject", func(_ *Board, _ *clock, r *pb.ScaledObjectRef) { r.Reset() }, codes.InvalidArgument, "named \"\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, now := readyBoard(Decision{Replicas: 3, Made: noon}), newClock()
			r := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{"loadline": "shop/main",
				"service": "cart"}}
			c.change(b, now, r)
			ctx, keda := patient(t), client(t, serve(t, b, Options{Now: now.now}))

			m, err := keda.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: r, MetricName: metricName})
			wantCode(t, err, c.code)
			if m != nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v, want it to say %q", m, err, c.says)
			}
			a, err := keda.IsActive(ctx, r)
			wantCode(t, err, c.code)
			if a != nil {
				t.Errorf("active: %v", a)
			}
			spec, err := keda.GetMetricSpec(ctx, r)
			if err != nil || len(spec.MetricSpecs) != 1 {
				t.Errorf("the specification must be answered always, got %v, %v", spec, err)
			}
		})
	}
}

func TestAgeIsTheDecisionsOwnWhereItHasOne(t *testing.T) {
	now := newClock()
	b := readyBoard(Decision{Replicas: 3, Made: noon, GoodFor: 30 * time.Minute, FromStatus: true})
	ctx, c := patient(t), client(t, serve(t, b, Options{Now: now.now}))
	now.advance(30 * time.Minute)
	if value, on, err := ask(ctx, c, ref); err != nil || value != 3 || !on {
		t.Errorf("within its age: %g, %t, %v", value, on, err)
	}
	now.advance(time.Second)
	_, _, err := ask(ctx, c, ref)
	wantCode(t, err, codes.Unavailable)
}

func TestMetricSpecMakesTheValueTheNumberOfReplicas(t *testing.T) {
	ctx, c := patient(t), client(t, serve(t, NewBoard(), Options{}))
	for _, r := range []*pb.ScaledObjectRef{ref, {}, {ScalerMetadata: map[string]string{"servce": "x"}}} {
		spec, err := c.GetMetricSpec(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if s := spec.MetricSpecs[0]; s.MetricName != metricName || s.TargetSize != 1 || s.TargetSizeFloat != 1 {
			t.Errorf("got %v", s)
		}
	}
	_, err := c.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "s0-something"})
	wantCode(t, err, codes.InvalidArgument)
	_, err = c.GetMetrics(ctx, &pb.GetMetricsRequest{})
	wantCode(t, err, codes.InvalidArgument)
}

func TestOvershootIsPublishedOnlyWhereItIsAskedFor(t *testing.T) {
	over := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{
		"loadline": "main", "service": "cart", "tolerance": "overshoot",
	}}
	for _, c := range []struct {
		name    string
		ref     *pb.ScaledObjectRef
		current loadline.Opt[int]
		want    int
		value   float64
		whole   int64 // for a KEDA that knows no fractions: never below what is wanted
	}{
		{"tolerance zero", ref, loadline.Some(10), 11, 11, 11},
		{"past the tolerance, up", over, loadline.Some(10), 11, 12, 12},
		{"past the tolerance, down", over, loadline.Some(10), 9, 8 + justAbove, 9},
		{"the replicas are not known", over, loadline.Opt[int]{}, 11, 11, 11},
		{"nothing is wanted", over, loadline.Some(10), 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var published []float64
			b := readyBoard(Decision{Replicas: c.want, Made: noon, Current: c.current})
			hooks := Hooks{Published: func(target Target, d Decision, v float64) {
				if target.Service == "cart" && d.Replicas == c.want {
					published = append(published, v)
				}
			}}
			keda := client(t, serve(t, b, Options{Now: newClock().now, Hooks: hooks}))
			m, err := keda.GetMetrics(patient(t), &pb.GetMetricsRequest{ScaledObjectRef: c.ref, MetricName: metricName})
			if err != nil {
				t.Fatal(err)
			}
			if v := m.MetricValues[0]; v.MetricValueFloat != c.value || v.MetricValue != c.whole || v.MetricName != metricName {
				t.Errorf("got %v, want %g and %d", v, c.value, c.whole)
			}
			if len(published) != 1 || published[0] != c.value {
				t.Errorf("the hook saw %v", published)
			}
		})
	}
}

// brokenSource fails in ways that a Source may not.
type brokenSource struct{ Board }

func (*brokenSource) Decision(t Target) (Decision, error) {
	if t.Service == "panic" {
		panic("on purpose")
	}
	return Decision{}, errors.New("on purpose")
}
func (*brokenSource) Ready() error             { return nil }
func (*brokenSource) Changed() <-chan struct{} { return nil }

func TestAFaultOfTheSourceStaysInItsCall(t *testing.T) {
	ctx, c := patient(t), client(t, serve(t, &brokenSource{}, Options{}))
	for _, service := range []string{"panic", "error"} {
		r := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{"service": service}}
		_, err := c.IsActive(ctx, r)
		wantCode(t, err, codes.Internal)
	}
	r := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{"service": "panic"}}
	stream, err := c.StreamIsActive(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.Internal)
	if errors.Is(err, io.EOF) {
		t.Error("it ended as if nothing were wrong")
	}
}

func TestHooksSeeEveryCall(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]map[codes.Code]int{}
	hooks := Hooks{Answered: func(a Answer) {
		mu.Lock()
		defer mu.Unlock()
		if seen[a.Method] == nil {
			seen[a.Method] = map[codes.Code]int{}
		}
		seen[a.Method][a.Code]++
	}}
	b := readyBoard(Decision{Replicas: 3, Made: noon})
	s := serve(t, b, Options{Now: newClock().now, Hooks: hooks})
	ctx, c := patient(t), client(t, s)
	for range 3 {
		if _, _, err := ask(ctx, c, ref); err != nil {
			t.Fatal(err)
		}
	}
	b.SetReady(false)
	_, _, err := ask(ctx, c, ref)
	wantCode(t, err, codes.Unavailable)
	s.stop()

	mu.Lock()
	defer mu.Unlock()
	if seen["GetMetrics"][codes.OK] != 3 || seen["IsActive"][codes.OK] != 3 || seen["GetMetrics"][codes.Unavailable] != 1 {
		t.Errorf("the hooks saw %v", seen)
	}
}
