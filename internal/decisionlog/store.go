package decisionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline"
)

// Store keeps the logs of many applications in one folder, below NAMESPACE/NAME, within one size. It may
// be used by several goroutines.
//
// Every log takes what it needs while there is room. When there is none, the oldest segment is dropped
// among the logs that have more than an equal share: applications that decide much do not displace the
// records of those that decide little.
type Store struct {
	dir     string
	bytes   int64
	options Options // of each log

	mu    sync.Mutex
	open  map[string]*StoredLog // by path below dir
	other map[string]int64      // sizes of folders without a writer in this process
}

// StoredLog is a log of a store.
type StoredLog struct {
	*Log
	store *Store
	name  string
}

// ErrFull means that a store has no room: what it has is not dropped, since it is being written.
var ErrFull = errors.New("no room for decision logs")

// storeHeadroom is the part of a store that is kept free, so that records that are written at the same
// time stay within its size.
const storeHeadroom = 16

// NewStore keeps the logs below a folder to a size. The options are those of each log.
func NewStore(dir string, bytes int64, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if least := 4 * o.withDefaults().SegmentBytes; bytes < least {
		return nil, fmt.Errorf("decision logs: a size of %d bytes for all of them must be at least %d", bytes, least)
	}
	s := &Store{dir: dir, bytes: bytes, options: o, open: map[string]*StoredLog{}, other: map[string]int64{}}
	folders, err := s.folders()
	if err != nil {
		return nil, err
	}
	for _, name := range folders {
		s.other[name] = s.sizeOf(name)
	}
	return s, nil
}

// folders of logs, by their paths below the store's.
func (s *Store) folders() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(s.dir, "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("decision logs: %w", err)
	}
	var names []string
	for _, path := range all {
		if segments, err := listSegments(path); err == nil && len(segments) > 0 {
			name, err := filepath.Rel(s.dir, path)
			if err != nil {
				return nil, fmt.Errorf("decision logs: %w", err)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *Store) sizeOf(name string) (bytes int64) {
	segments, err := listSegments(filepath.Join(s.dir, name))
	if err != nil {
		return 0 // it is gone
	}
	for i := range segments {
		bytes += segments[i].size
	}
	return bytes
}

// Open opens the log of an application for writing.
func (s *Store) Open(namespace, name string) (*StoredLog, error) {
	path := filepath.Join(namespace, name)
	l, err := Open(filepath.Join(s.dir, path), s.options)
	if err != nil {
		return nil, err
	}
	stored := &StoredLog{l, s, path}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[path] = stored
	delete(s.other, path)
	return stored, nil
}

// Append writes a record, after there is room for it in the store.
func (l *StoredLog) Append(app *loadline.App, r *Record) error {
	if err := l.store.makeRoom(); err != nil {
		return err
	}
	return l.Log.Append(app, r)
}

// Close the log. What it has stays in the store.
func (l *StoredLog) Close() error {
	err := l.Log.Close()
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.open[l.name] == l {
		delete(l.store.open, l.name)
		l.store.other[l.name] = l.Size()
	}
	return err
}

// makeRoom drops segments until there is head room again. The lock of a log is taken after that of the
// store, never before it.
func (s *Store) makeRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		sizes, total := map[string]int64{}, int64(0)
		for name, l := range s.open {
			sizes[name] = l.Size()
		}
		for name, bytes := range s.other {
			sizes[name] = bytes
		}
		for _, bytes := range sizes {
			total += bytes
		}
		if total <= s.bytes-s.bytes/storeHeadroom {
			return nil
		}
		if dropped, err := s.dropOldest(sizes); err != nil || !dropped {
			if err == nil {
				err = fmt.Errorf("%w: %d logs have %d MB of the %d MB that they may have together, and none has an older part to drop: "+
					"raise --decisions-max", ErrFull, len(sizes), total>>20, s.bytes>>20)
			}
			return err
		}
	}
}

// dropOldest drops the oldest closed segment of the logs with more than an equal share, or of all if none
// of those has any.
func (s *Store) dropOldest(sizes map[string]int64) (bool, error) {
	share := s.bytes / int64(len(sizes))
	for _, above := range []int64{share, 0} {
		best, when := "", time.Time{}
		for name, bytes := range sizes {
			if bytes <= above {
				continue
			}
			at, has := s.oldest(name)
			if has && (best == "" || at.Before(when) || at.Equal(when) && name < best) {
				best, when = name, at
			}
		}
		if best != "" {
			return true, s.drop(best)
		}
	}
	return false, nil
}

// oldest is when the oldest segment of a log was last written, if it can be dropped.
func (s *Store) oldest(name string) (time.Time, bool) {
	if l := s.open[name]; l != nil {
		return l.oldest()
	}
	segments, err := listSegments(filepath.Join(s.dir, name))
	if err != nil || len(segments) == 0 {
		return time.Time{}, false
	}
	return written(segments[0].path)
}

func written(path string) (time.Time, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

func (s *Store) drop(name string) error {
	if l := s.open[name]; l != nil {
		return l.dropOldest()
	}
	dir := filepath.Join(s.dir, name)
	segments, err := listSegments(dir)
	if err != nil || len(segments) == 0 {
		delete(s.other, name)
		return nil
	}
	if err := os.Remove(segments[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("decision logs: drop the oldest segment: %w", err)
	}
	if s.other[name] -= segments[0].size; len(segments) == 1 {
		delete(s.other, name)
	}
	return nil
}

// Sweep removes the logs of applications that are gone and were not written for some time. Known reports
// whether an application is still there.
func (s *Store) Sweep(now time.Time, keep time.Duration, known func(namespace, name string) bool) (removed []string, err error) {
	folders, err := s.folders()
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, name := range folders {
		if known(filepath.Dir(name), filepath.Base(name)) {
			continue
		}
		gone, err := s.removeOld(name, now.Add(-keep))
		if err != nil {
			faults = append(faults, err)
		}
		if gone {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(faults...)
}

// removeOld removes the folder of a log without a writer whose newest segment is older than an instant.
func (s *Store) removeOld(name string, before time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, name)
	segments, err := listSegments(dir)
	if err != nil || len(segments) == 0 || s.open[name] != nil {
		return false, nil
	}
	for i := range segments {
		if at, has := written(segments[i].path); !has || !at.Before(before) {
			return false, nil
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return false, fmt.Errorf("decision logs: remove those of %s, which is gone: %w", name, err)
	}
	_ = os.Remove(filepath.Dir(dir)) // the namespace's, if it is empty
	delete(s.other, name)
	return true, nil
}
