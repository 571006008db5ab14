package kedascaler

import (
	"errors"
	"time"

	"google.golang.org/grpc"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// StreamIsActive tells at once whether any replica is wanted, again on every
// change, and at every heartbeat. While it does not know it is silent: the
// stream has no way to say so without ending, and KEDA waits ever longer, up to
// a minute, before it comes back to one that ended with an error.
//
// A replica that is not ready refuses, and one that ceases to be ends the stream
// cleanly: KEDA then comes back after two seconds, and may find another.
func (s *scaler) StreamIsActive(r *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	t, err := parseTrigger(r.GetNamespace(), r.GetName(), r.GetScalerMetadata())
	if err != nil {
		return refusal(err)
	}
	if err := s.source.Ready(); err != nil {
		return refusal(err)
	}
	beat := time.NewTicker(s.options.Heartbeat)
	defer beat.Stop()

	told, due := false, true // what was told last; whether to tell whatever it is
	for {
		changed := s.source.Changed() // before reading, or a change between the two is lost
		d, err := s.usable(t.Target)
		if errors.Is(err, ErrNotReady) {
			return nil
		}
		if err == nil && (due || active(d) != told) {
			if err := stream.Send(&pb.IsActiveResponse{Result: active(d)}); err != nil {
				return err
			}
			told, due = active(d), false
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-changed:
		case <-beat.C:
			due = true
		}
	}
}

// StreamMetricSpec tells what GetMetricSpec says, once: it never changes.
func (s *scaler) StreamMetricSpec(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	if err := stream.Send(metricSpec()); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}
