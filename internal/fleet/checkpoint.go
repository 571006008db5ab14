package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadline/loadline/internal/atomicfile"
)

// checkpointName is the file in the teacher's folder.
const checkpointName = "fleet.json"

// checkpointLayout is the version of the file format.
const checkpointLayout = 1

type checkpoint struct {
	Layout int    `json:"layout"`
	Fleet  string `json:"fleet"`
	Ledger
}

// readCheckpoint reads the position of the last teacher; without a file, the beginning.
func readCheckpoint(dir, fleet string) (Ledger, error) {
	path := filepath.Join(dir, checkpointName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Ledger{}, nil
	}
	if err != nil {
		return Ledger{}, fmt.Errorf("checkpoint: %w", err)
	}
	var c checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		return Ledger{}, fmt.Errorf("checkpoint %s cannot be read: %w; remove it to count from what the stream still holds", path, err)
	}
	if c.Layout != checkpointLayout {
		return Ledger{}, fmt.Errorf("checkpoint %s has layout %d, and this program reads %d: use the loadline that wrote it, or remove it "+
			"to count from what the stream still holds", path, c.Layout, checkpointLayout)
	}
	if c.Fleet != fleet {
		return Ledger{}, fmt.Errorf("checkpoint %s is of fleet %q, not of %q: give each fleet's teacher a folder of its own", path,
			c.Fleet, fleet)
	}
	return c.Ledger, nil
}

// writeCheckpoint writes a ledger atomically.
func writeCheckpoint(dir, fleet string, l *Ledger) error {
	return atomicfile.Write(filepath.Join(dir, checkpointName), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(checkpoint{checkpointLayout, fleet, *l})
	})
}
