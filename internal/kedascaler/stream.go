package kedascaler

import (
	"errors"
	"time"

	"google.golang.org/grpc"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// StreamIsActive sends at once whether any replica is desired, again on every
// change, and at every heartbeat. While there is no decision it sends nothing:
// the stream cannot report that without ending, and KEDA reconnects with
// increasing delays, up to a minute, after an error.
//
// A replica that is not ready rejects the call, and one that stops being ready
// ends the stream cleanly: KEDA then reconnects after two seconds, perhaps to
// another replica.
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

	sent, due := false, true // the last result; whether to send regardless of change
	for {
		changed := s.source.Changed() // before reading, or a change between the two is lost
		d, err := s.usable(t.Target)
		if errors.Is(err, ErrNotReady) {
			return nil
		}
		if err == nil && (due || active(d) != sent) {
			if err := stream.Send(&pb.IsActiveResponse{Result: active(d)}); err != nil {
				return err
			}
			sent, due = active(d), false
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

// StreamMetricSpec sends the answer of GetMetricSpec once: it never changes.
func (s *scaler) StreamMetricSpec(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	if err := stream.Send(metricSpec()); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}
