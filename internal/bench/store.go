package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
)

// store is the folder of a bench: runs/KEY.json for each finished run, prepared/KEY.json for
// each calibration or search, models/ with trained models, results.json and results.csv. Every
// file is written atomically. Several processes may share it (Options.Shard).
type store struct {
	dir     string
	program string
	redo    bool
}

// OtherVersionError: results in the folder were made by another version. They are never mixed
// with new ones.
type OtherVersionError struct {
	Path              string
	Format            int
	Program, Expected string
}

func (e *OtherVersionError) Error() string {
	if e.Format != FormatVersion {
		return fmt.Sprintf("%s has format %d, and this program reads %d", e.Path, e.Format, FormatVersion)
	}
	return fmt.Sprintf("%s was made by %q, and this is %q", e.Path, e.Program, e.Expected)
}

const (
	runsFolder     = "runs"
	preparedFolder = "prepared"
	modelsFolder   = "models"

	// ClaimsFolder has what the processes that share the folder are doing. It can be deleted when
	// none is running.
	ClaimsFolder = "claims"
)

func openStore(o Options) (*store, error) {
	dir := o.Dir
	for _, folder := range []string{runsFolder, preparedFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, err)
		}
		if !o.Shard.Shared() { // other machines' clocks may differ from ours by more than a minute
			removeLeftovers(filepath.Join(dir, folder))
		}
	}
	return &store{dir: dir, program: o.Program, redo: o.Redo}, nil
}

// removeLeftovers removes temporary files of a killed run. A recent one may belong to another
// running program.
func removeLeftovers(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, ".*"+atomicfile.Suffix))
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(path)
		}
	}
}

func (s *store) path(folder, key string) string {
	return filepath.Join(s.dir, folder, key+".json")
}

// stamp is the header of every stored file.
type stamp struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	Key     string `json:"key"`
}

// read reads a stored file. Missing and damaged ones are not found: they will be made again.
// One of another version is an error, unless it is to be repeated.
func (s *store) read(folder, key string, into any) (found bool, err error) {
	path := s.path(folder, key)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	var made stamp
	if json.Unmarshal(text, &made) != nil || made.Format == FormatVersion && made.Key != key {
		return false, nil
	}
	if made.Format != FormatVersion || made.Program != s.program {
		if s.redo {
			return false, nil
		}
		return false, &OtherVersionError{path, made.Format, made.Program, s.program}
	}
	return json.Unmarshal(text, into) == nil, nil
}

func (s *store) write(folder, key string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path(folder, key), err)
	}
	return writeWhole(s.path(folder, key), append(text, '\n'))
}

func writeWhole(path string, text []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// ReadRecord reads one run of a bench's folder by its key.
func ReadRecord(dir, key string) (*Record, error) {
	s := &store{dir: dir}
	text, err := os.ReadFile(s.path(runsFolder, key))
	if err != nil {
		return nil, fmt.Errorf("read a run: %w", err)
	}
	record := &Record{}
	if err := json.Unmarshal(text, record); err != nil || record.Key != key {
		return nil, fmt.Errorf("%s is damaged: delete it and run the same command again", s.path(runsFolder, key))
	}
	return record, nil
}
