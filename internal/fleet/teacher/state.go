package teacher

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// stateName is the file with what was learned and what was counted. The name is that of
// earlier releases.
const stateName = "class.state"

// write writes the state with a ledger, atomically. The collector's checkpoint is
// written after it, and everything is acknowledged after that.
func (t *Teacher) write(l fleet.Ledger) error {
	data := rl.Save(&state{t, &l})
	if err := atomicfile.Write(filepath.Join(t.folder, stateName), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		return &fleet.WriteError{Err: err}
	}
	return nil
}

// save writes the state, whether or not there is something to acknowledge.
func (t *Teacher) save() error {
	if t.collector.Uncommitted() > 0 {
		return t.commit(true)
	}
	t.saved = time.Now()
	return t.write(t.collector.Pending())
}

// state is the content of the file.
type state struct {
	teacher *Teacher
	ledger  *fleet.Ledger
}

// Archive saves or restores the state.
func (s *state) Archive(a *rl.Archive) {
	t := s.teacher
	ledger, err := json.Marshal(s.ledger)
	a.Fail(err)
	a.Bytes(&ledger)
	if a.Restoring() && a.Err() == nil {
		a.Fail(json.Unmarshal(ledger, s.ledger))
	}
	digest := []byte(t.digest)
	a.Bytes(&digest)
	if a.Restoring() && a.Err() == nil && string(digest) != t.digest {
		a.Fail(errAnotherModel)
	}
	t.join.Archive(a)
	t.mix.Archive(a)
	a.Uint64(&t.learned)
	a.Uint64(&t.rejected)
	a.Int(&t.sinceEvaluation)
	a.Int(&t.sinceRetraining)
	a.Int(&t.retrainings)
	a.Float(&t.evaluated)
	a.Int(&t.retrained)
	a.Int(&t.published)
	t.trainer.Archive(a)
}

// errAnotherModel is of a state whose teacher began with another model.
var errAnotherModel = errors.New("the state is of another model")

// resume restores the state, if there is one of this model. With another model the
// teacher starts from scratch and keeps only the counts.
func (t *Teacher) resume(scenario *train.Scenario) error {
	path := filepath.Join(t.folder, stateName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.record(Event{What: fmt.Sprintf(
			"started with the weights of the model: critics are trained in the simulated application for %d steps", t.config.WarmUp)})
		return nil
	}
	if err != nil {
		return fmt.Errorf("teacher: %w", err)
	}
	var ledger fleet.Ledger
	switch err := rl.Restore(data, &state{t, &ledger}); {
	case errors.Is(err, errAnotherModel):
		t.record(Event{What: "started again with the weights of another model: critics are trained in the simulated application"})
	case errors.Is(err, trainer.ErrAnother):
		return fmt.Errorf("teacher: %s was written for %s with other settings or another load: %w; give the same settings and load, "+
			"or another folder, "+
			"or remove the file to begin with the weights of the model (what was counted stays)", path, scenario.App.Name, err)
	case err != nil:
		return fmt.Errorf("teacher: %s cannot be used: %w; remove it to begin with the weights of the model", path, err)
	}
	t.collector.Resume(ledger)
	return nil
}

// digestOf a model's teacher and students.
func digestOf(m *drpc.Model) string {
	h := sha256.New()
	fmt.Fprintf(h, "%x\n", m.Teacher.Params())
	for i, service := range m.Services {
		fmt.Fprintf(h, "%s\n%x\n", service, m.Students[i].Params())
	}
	return hex.EncodeToString(h.Sum(nil))
}
