package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// Save returns the state of the training between two units. It does not contain the
// forecasters: they depend on the scenario only, and fitting them again gives the same.
func (s *Trainer) Save() []byte { return rl.Save(s) }

// ErrAnother is returned for a saved training of another scenario or with other settings.
var ErrAnother = errors.New("it is of another application, load or other settings")

// Restore continues a saved training. The scenario and the settings must be the same.
func (s *Trainer) Restore(data []byte) error {
	if err := rl.Restore(data, s); err != nil {
		return fmt.Errorf("resume training: %w", err)
	}
	return nil
}

// Fingerprint is a digest of everything that determines the outcome of a training: its
// scenario and its settings.
func Fingerprint(subject train.Scenario, config Config) (string, error) {
	h := sha256.New()
	app, err := json.Marshal(subject.App)
	if err != nil {
		return "", fmt.Errorf("drpc trainer: %w", err)
	}
	shares, err := json.Marshal(config.Shares) // by content: the pointer differs from run to run
	if err != nil {
		return "", fmt.Errorf("drpc trainer: %w", err)
	}
	config.Shares = nil
	h.Write(app)
	fmt.Fprintf(h, "\n%v %v\n%+v\n%s\n", subject.Source, subject.Duration, config, shares)
	// One sample per minute distinguishes two loads.
	for at := time.Duration(0); at <= subject.Duration; at += time.Minute {
		for k := range subject.App.Kinds {
			rate, _ := subject.Load.Rate(k, at)
			fmt.Fprintf(h, "%v ", rate)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// Archive saves or restores the training.
func (s *Trainer) Archive(a *rl.Archive) {
	s.archiveWhose(a)
	phase := int(s.phase)
	a.Int(&phase)
	s.phase = phaseOf(a, phase)
	a.Uint64(&s.version)
	s.mix.Archive(a)
	s.live.Archive(a)
	if a.Restoring() && a.Err() == nil {
		a.Fail(s.enter())
	}
	s.visits.Archive(a)
	s.training.Archive(a)
	a.Floats(s.reference.Net.Params())
	for _, student := range s.students {
		student.Archive(a)
	}
	s.transport.Archive(a)
	s.stage1.archive(a, s.training)
	s.distillation.archive(a)
	s.stage2.archive(a, s)
	a.Int(&s.warm.began)
	a.Int(&s.warm.steps)
	a.Some(&s.warm.held)
	a.Float(&s.former.reward)
	a.Some(&s.former.teacher)
	a.Some(&s.former.students)
	archiveJSON(a, &s.called)
	archiveJSON(a, &s.report)
}

// archiveWhose rejects the state of another training.
func (s *Trainer) archiveWhose(a *rl.Archive) {
	whose, err := Fingerprint(s.subject, s.config)
	a.Fail(err)
	saved := []byte(whose)
	a.Bytes(&saved)
	if a.Err() == nil && string(saved) != whose {
		a.Fail(fmt.Errorf("drpc trainer: %w", ErrAnother))
	}
}

// phaseOf converts a saved number, which may be invalid.
func phaseOf(a *rl.Archive, n int) phase {
	if n < int(exploring) || n > int(warming) {
		a.Fail(fmt.Errorf("drpc trainer: the saved state is in phase %d, which there is not", n))
		return exploring
	}
	return phase(n)
}

func (st *stage1) archive(a *rl.Archive, t *rl.Training) {
	a.Int(&st.limit)
	a.Int(&st.began)
	if a.Restoring() {
		t.Limit(st.began + st.limit)
	}
}

func (l *distillation) archive(a *rl.Archive) {
	why, then := []byte(l.why), int(l.then)
	a.Int(&l.unit)
	a.Bytes(&why)
	a.Float(&l.reward)
	a.Int(&then)
	l.why, l.then = string(why), phaseOf(a, then)
}

func (t *stage2) archive(a *rl.Archive, s *Trainer) {
	a.Int(&t.acted)
	a.Int(&t.taken)
	a.Float(&t.before)
	begun := t.collector != nil
	a.Bool(&begun)
	if !begun || a.Err() != nil {
		return
	}
	if a.Restoring() {
		t.collector, t.notifier = drpc.NewCollector(s.subject.App), drpc.NewNotifier(s.config.Notifier)
	}
	t.collector.Archive(a)
	t.notifier.Archive(a)
}

// archiveJSON archives a value as JSON, which keeps every number exactly.
func archiveJSON[T any](a *rl.Archive, v *T) {
	text, err := json.Marshal(v)
	if !a.Restoring() {
		a.Fail(err)
	}
	a.Bytes(&text)
	if a.Restoring() && a.Err() == nil {
		var got T
		a.Fail(json.Unmarshal(text, &got))
		*v = got
	}
}
