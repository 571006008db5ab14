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

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/rl"
)

// stateName is the file with what was learned and what was counted.
const stateName = "class.state"

// writeError is of a disk, not of servers.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// write keeps the state with a ledger: whole, or not at all. The fleet's own
// checkpoint is written after it, and everything is acknowledged after that.
func (c *Teacher) write(l fleet.Ledger) error {
	data := rl.Save(&state{c, &l})
	if err := atomicfile.Write(filepath.Join(c.folder, stateName), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		return &writeError{err}
	}
	return nil
}

// save writes the state, whether or not there is something to acknowledge.
func (c *Teacher) save() error {
	if c.collector.Uncommitted() > 0 {
		return c.commit(true)
	}
	c.saved = time.Now()
	return c.write(c.collector.Pending())
}

// state is what the file holds.
type state struct {
	class  *Teacher
	ledger *fleet.Ledger
}

// Archive implements saving.
func (s *state) Archive(a *rl.Archive) {
	c := s.class
	ledger, err := json.Marshal(s.ledger)
	a.Fail(err)
	a.Bytes(&ledger)
	if a.Restoring() && a.Err() == nil {
		a.Fail(json.Unmarshal(ledger, s.ledger))
	}
	digest := []byte(c.digest)
	a.Bytes(&digest)
	if a.Restoring() && a.Err() == nil && string(digest) != c.digest {
		a.Fail(errAnotherModel)
	}
	c.join.Archive(a)
	c.mix.Archive(a)
	a.Uint64(&c.learned)
	a.Uint64(&c.rejected)
	a.Int(&c.sinceEvaluation)
	a.Int(&c.sinceRetraining)
	a.Int(&c.retrainings)
	a.Float(&c.evaluated)
	a.Int(&c.retrained)
	a.Int(&c.published)
	c.trainer.Archive(a)
}

// errAnotherModel is of a state whose teacher began with another model.
var errAnotherModel = errors.New("the state is of another model")

// resume takes the state up, if there is one of this model. With another model the
// teacher begins anew, but for what was counted.
func (c *Teacher) resume(subject train.Scenario) error {
	path := filepath.Join(c.folder, stateName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.record(Event{What: fmt.Sprintf("begun with the model's weights: critics are warmed up in the simulated world for %d steps", c.config.WarmUp)})
		return nil
	}
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	var ledger fleet.Ledger
	switch err := rl.Restore(data, &state{c, &ledger}); {
	case errors.Is(err, errAnotherModel):
		c.record(Event{What: "begun anew with another model's weights: critics are warmed up in the simulated world"})
	case errors.Is(err, trainer.ErrAnother):
		return fmt.Errorf("class: %s was learned on %s with other settings or another load: %w; give what it was begun with, or another folder, or remove the file to begin with the model's weights (what was counted stays)", path, subject.App.Name, err)
	case err != nil:
		return fmt.Errorf("class: %s cannot be used: %w; remove it to begin with the model's weights", path, err)
	}
	c.collector.Resume(ledger)
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
