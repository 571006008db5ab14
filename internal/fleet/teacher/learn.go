package teacher

import (
	"context"
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// received handles a message that is counted for the first time.
func (t *Teacher) received(d *drpc.Delivery) error {
	if t.config.Received != nil {
		t.config.Received(d)
	}
	if !t.learns() {
		return nil
	}
	if d.Snapshot == nil {
		t.join.AddExperience(&d.Experience)
		return nil
	}
	var view drpc.View
	_, err := t.trainer.Encoder().Decode(d.Snapshot, t.config.Training.Shape, &view)
	t.setProblem("a snapshot of the application is ignored", err)
	if err != nil {
		t.rejected++
		return nil
	}
	t.join.AddSnapshot(*d.Snapshot)
	return nil
}

// mixShare is how quickly the estimated request mix follows the observed one: within a
// few periods, so that training uses the mix after a change and not the one before.
const mixShare = 0.3

// learn learns from every complete period. When the notifier asks for training, the rest
// waits until the training is done.
func (t *Teacher) learn(ctx context.Context) error {
	for t.learns() && ctx.Err() == nil && !t.trainer.Busy() {
		from, to, ok := t.join.Next(t.actions)
		if !ok {
			return nil
		}
		var before, after drpc.View
		mix, err := t.trainer.Encoder().Decode(&from, t.config.Training.Shape, &before)
		if err == nil {
			_, err = t.trainer.Encoder().Decode(&to, t.config.Training.Shape, &after)
		}
		if err != nil {
			return fmt.Errorf("teacher: %w", err) // both were checked when they were received
		}
		if mix != nil {
			t.mix = t.mix.Follow(mix, mixShare)
		}
		why := t.trainer.AddExperience(&before, &after, mix, t.actions, to.Score.Reward)
		t.learned++
		t.sinceEvaluation++
		t.sinceRetraining++
		switch {
		case len(why) > 0 && t.sinceRetraining >= t.patience():
			if err := t.retrain(why); err != nil {
				return err
			}
		case t.sinceEvaluation >= t.config.EvaluateEvery:
			t.evaluate()
		}
	}
	return nil
}

// patience is how many periods pass before the notifier may ask for training again. It
// doubles with each training in a row, since a cause that training does not remove need
// not be tried every ten minutes.
func (t *Teacher) patience() int {
	return t.config.Training.Notifier.Rewards << min(t.retrainings, maxDoublings)
}

const maxDoublings = 6

// retrain begins stage 1 again.
func (t *Teacher) retrain(why []drpc.Reason) error {
	if t.retrainings++; t.sinceRetraining > 10*t.patience() {
		t.retrainings = 1
	}
	t.sinceEvaluation, t.sinceRetraining = 0, 0
	t.retrained++
	t.record(Event{
		What:    "the notifier requests training: stage 1 in the simulated application with the observed request mix",
		Reasons: why, Before: t.trainer.Signals().Reward,
	})
	return t.trainer.Retrain(why, t.mix)
}

// evaluate finds out whether the teacher has improved.
func (t *Teacher) evaluate() {
	t.sinceEvaluation = 0
	best := t.trainer.Best()
	reward, improved, regressed := t.trainer.Evaluate()
	t.evaluated = reward
	switch {
	case improved:
		t.record(Event{What: "the teacher has improved by the students' experience: it trains its students", Before: best, After: reward})
	case regressed:
		t.record(Event{What: "the teacher has regressed by the students' experience: its best weights are restored", Before: reward,
			After: best})
	}
}
