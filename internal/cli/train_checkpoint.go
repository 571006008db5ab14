package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// drpcCheckpoint is the folder from which an interrupted training of DRPC resumes.
type drpcCheckpoint struct {
	folder string // empty = there is none
	lock   io.Closer
	saved  time.Time
	err    error // of the last save
}

// CheckpointEvery is the time between two checkpoints of a long training.
const CheckpointEvery = 5 * time.Minute

// drpcState is the file in it; the name is that of earlier releases.
const drpcState = "school.state"

// openDRPCCheckpoint locks the folder for this process.
func openDRPCCheckpoint(folder string) (*drpcCheckpoint, error) {
	c := &drpcCheckpoint{folder: folder, saved: time.Now()}
	if folder == "" {
		return c, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, Usagef("--checkpoint: %w", err)
	}
	var err error
	if c.lock, err = atomicfile.Lock(folder); err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	return c, nil
}

func (c *drpcCheckpoint) close() error {
	if c.lock == nil {
		return nil
	}
	return c.lock.Close()
}

func (c *drpcCheckpoint) path() string { return filepath.Join(c.folder, drpcState) }

// resume restores the state in the folder; without one, the training starts at the beginning.
func (c *drpcCheckpoint) resume(s *trainer.Trainer, stderr io.Writer) error {
	if c.folder == "" {
		return nil
	}
	data, err := os.ReadFile(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	if err := s.Restore(data); err != nil {
		return fmt.Errorf("--checkpoint: %s: %w: give the flags of the first start, or another folder, "+
			"or remove the file to start again", filepath.ToSlash(c.path()), err)
	}
	fmt.Fprintf(stderr, "resuming after %d steps, from %s\n", s.Steps(), filepath.ToSlash(c.path()))
	return nil
}

// save saves the state of the training between two units: now, or if it is due.
func (c *drpcCheckpoint) save(s *trainer.Trainer, now bool) {
	if c.folder == "" || !now && time.Since(c.saved) < CheckpointEvery {
		return
	}
	c.err = atomicfile.Write(c.path(), func(w io.Writer) error { _, err := w.Write(s.Save()); return err })
	c.saved = time.Now()
}

// end is the error of a training that ended, with how to resume it.
func (c *drpcCheckpoint) end(ctx context.Context, s *trainer.Trainer, err error) error {
	c.save(s, true)
	if err != nil && ctx.Err() != nil && c.folder != "" && c.err == nil {
		return Interruptedf("interrupted after %d steps; the same command resumes from %s", s.Steps(), filepath.ToSlash(c.folder))
	}
	return errors.Join(err, c.err)
}
