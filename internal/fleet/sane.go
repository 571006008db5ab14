package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// errForeign is a message that no student of the fleet sends, whatever it holds. Such a message is
// passed over: a forged number would make all later messages of a student look like repetitions.
var errForeign = errors.New("the message is not of a student of this fleet")

const (
	// maxName is the longest name of a service, as names of Kubernetes.
	maxName = 253
	// clockSkew is how far the clock of a student may be ahead of the server's.
	clockSkew = 10 * time.Minute
	// fastest is the shortest time between two messages of a student on average, far below any pace,
	// so that simulated clusters can run fast.
	fastest = time.Millisecond
	// maxStep is how much a version of weights may be above the last one that is known.
	maxStep = 1 << 20
	// maxMarks is how many services a collector counts that does not know which there are.
	maxMarks = 10_000
)

// checkSubject reports a message that does not belong to its subject: a user who may publish for one
// service must not do so for another.
func (l *Link) checkSubject(subject string, e *drpc.Experience) error {
	if e.Service == "" || len(e.Service) > maxName || l.subject(e.Service) != subject {
		return fmt.Errorf("%w: subject %.80s holds an experience of service %.80q", errForeign, subject, e.Service)
	}
	return nil
}

// checkNumbers reports an epoch or a sequence that no process can have reached when the server stored
// the message. Epochs are the start times of processes, in nanoseconds, or small numbers.
func checkNumbers(epoch, sequence uint64, stored time.Time) error {
	now := uint64(max(0, stored.Add(clockSkew).UnixNano()))
	switch {
	case epoch > now:
		return fmt.Errorf("%w: its epoch %d is later than the message", errForeign, epoch)
	case sequence == 0 || sequence > (now-epoch)/uint64(fastest)+MaxUnacknowledged:
		return fmt.Errorf("%w: sequence %d is more than a process of epoch %d can have sent", errForeign, sequence, epoch)
	}
	return nil
}

// checkVersion reports weights whose version is not one that a teacher can have reached from one that is
// known.
func checkVersion(w drpc.Weights, known uint64) error {
	if w.Version > known && w.Version-known > maxStep {
		return fmt.Errorf("weights %d of %s are more than %d versions above %d: %w", w.Version, w.Service, uint64(maxStep), known,
			drpc.ErrUnfit)
	}
	return nil
}
