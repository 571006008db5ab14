package kedascaler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// metricName is the metric's name; KEDA prefixes the trigger's index, so that it
// is s0-loadline-replicas in the HPA.
const metricName = "loadline-replicas"

// clocksApart is the allowed clock difference to the replica that decided.
const clocksApart = time.Minute

var (
	errStale  = errors.New("the last decision is too old")
	errBroken = errors.New("the last decision cannot be used")
)

// scaler answers requests. Every answer depends only on the source at that time.
type scaler struct {
	pb.UnimplementedExternalScalerServer
	source  Source
	options Options
}

// GetMetricSpec is the same for every target and needs no decision: KEDA creates
// the HPA from it, and could not if this failed.
func (s *scaler) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	return metricSpec(), nil
}

func metricSpec() *pb.GetMetricSpecResponse {
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{
		MetricName: metricName, TargetSize: target, TargetSizeFloat: target,
	}}}
}

// GetMetrics returns the number of replicas for the HPA.
func (s *scaler) GetMetrics(_ context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	if name := r.GetMetricName(); name != "" && name != metricName {
		return nil, status.Errorf(codes.InvalidArgument, "unknown metric %q: there is only %q", name, metricName)
	}
	t, d, err := s.decided(r.GetScaledObjectRef())
	if err != nil {
		return nil, refusal(err)
	}
	value := float64(d.Replicas)
	if t.tolerance == beyondTolerance && d.Current.Set {
		value = ValueBeyondTolerance(d.Replicas, d.Current.Value, s.options.HPATolerance)
	}
	if s.options.Hooks.Published != nil {
		s.options.Hooks.Published(t.Target, d, value)
	}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{
		MetricName: metricName, MetricValue: int64(math.Ceil(value)), MetricValueFloat: value,
	}}}, nil
}

// IsActive reports whether any replica is desired. An unknown decision is an
// error: false would scale the service to zero.
func (s *scaler) IsActive(_ context.Context, r *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	_, d, err := s.decided(r)
	if err != nil {
		return nil, refusal(err)
	}
	return &pb.IsActiveResponse{Result: active(d)}, nil
}

func active(d Decision) bool { return d.Replicas > 0 }

// decided returns a ScaledObject's trigger and the decision to answer with.
func (s *scaler) decided(r *pb.ScaledObjectRef) (trigger, Decision, error) {
	t, err := parseTrigger(r.GetNamespace(), r.GetName(), r.GetScalerMetadata())
	if err != nil {
		return t, Decision{}, err
	}
	d, err := s.usable(t.Target)
	return t, d, err
}

// usable returns the target's decision if it is valid.
func (s *scaler) usable(t Target) (Decision, error) {
	return Usable(s.source, t, s.options.Now(), s.options.MaxAge)
}

// Usable returns a target's decision if it is valid now: it is not older than its validity, or than
// maxAge if it has none.
func Usable(from Source, t Target, now time.Time, maxAge time.Duration) (Decision, error) {
	d, err := from.Decision(t)
	if err != nil {
		return Decision{}, err
	}
	if d.Replicas < 0 || d.Replicas > math.MaxInt32 || d.Current.Set && (d.Current.Value < 0 || d.Current.Value > math.MaxInt32) {
		return Decision{}, fmt.Errorf("%w: %d replicas desired of %d for %s", errBroken, d.Replicas, d.Current.Value, t)
	}
	goodFor := d.GoodFor
	if goodFor <= 0 {
		goodFor = maxAge
	}
	switch age := now.Sub(d.Made); {
	case d.Made.IsZero():
		return Decision{}, fmt.Errorf("%w: its time is unknown, for %s", errStale, t)
	case age > goodFor:
		return Decision{}, fmt.Errorf("%w: made %s ago, valid for %s, for %s", errStale, age.Round(time.Second), goodFor, t)
	case age < -clocksApart:
		return Decision{}, fmt.Errorf("%w: made %s in the future, for %s; the clocks of two nodes differ", errBroken,
			(-age).Round(time.Second), t)
	}
	return d, nil
}

// refusal is an error as the caller gets it: a gRPC code, and a text that says
// what to do. KEDA shows the text in its log and in the ScaledObject's events.
func refusal(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, errMetadata):
		code = codes.InvalidArgument
	case errors.Is(err, ErrUnknown):
		code = codes.NotFound
	case errors.Is(err, ErrWithheld):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrNotReady), errors.Is(err, errStale):
		code = codes.Unavailable
	}
	return status.Error(code, err.Error())
}
