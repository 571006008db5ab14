// Package shard divides work among processes that share a folder. Every process goes through all of the
// work and begins at its own part. It claims a unit before doing it, takes what the others have not begun
// when its part is done, and waits for what they are doing: so each of them ends with the whole, and one
// that is lost takes nothing with it but the units that it was doing.
//
// Reading order: shard.go (parts and claims), turns.go (the order of the work).
package shard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/atomicfile"
)

// Part is one process of several; the zero value is the only one.
type Part struct {
	Index int // from 0
	Of    int
}

// Most processes that can share a folder.
const Most = 1000

// IndexWord stands for the index of the pod in Parse.
const IndexWord = "index"

// Parse reads I/N, with I from 1. The word index instead of I is the pod's index, counted from 0 as
// Kubernetes does.
func Parse(text, index string) (Part, error) {
	first, of, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(of)
	if !found || err != nil || n < 1 || n > Most {
		return Part{}, fmt.Errorf("%q: must be I/N with N from 1 to %d, such as 1/4", text, Most)
	}
	if first == IndexWord {
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= n {
			return Part{}, fmt.Errorf("%q: JOB_COMPLETION_INDEX is %q, must be from 0 to %d, as in a pod of an Indexed Job", text, index, n-1)
		}
		return Part{i, n}, nil
	}
	i, err := strconv.Atoi(first)
	if err != nil || i < 1 || i > n {
		return Part{}, fmt.Errorf("%q: I must be from 1 to %d", text, n)
	}
	return Part{i - 1, n}, nil
}

// Shared reports whether there are other processes.
func (p Part) Shared() bool { return p.Of > 1 }

// Order of n units: all of them, from the first of this part on.
func (p Part) Order(n int) []int {
	order := make([]int, n)
	first := 0
	if p.Shared() {
		first = n * p.Index / p.Of
	}
	for i := range order {
		order[i] = (first + i) % n
	}
	return order
}

// Claims are the units that processes are doing: locked files of a folder. The kernel releases those of
// a process that ends. nil = there are no other processes, and nothing is claimed. Where a file system
// does not pass locks on to other machines, two may do the same unit: that costs time, and both
// write the same.
type Claims struct{ dir string }

// OpenClaims creates the folder if necessary.
func OpenClaims(dir string) (*Claims, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open a folder for claims: %w", err)
	}
	return &Claims{dir}, nil
}

// Claim a unit, or return ErrLater if another one is doing it.
func (c *Claims) Claim(name string) (done func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	lock, err := atomicfile.Claim(c.dir, name)
	var busy *atomicfile.BusyError
	if errors.As(err, &busy) {
		return nil, ErrLater
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", name, err)
	}
	return closing(lock), nil
}

func closing(c io.Closer) func() { return func() { _ = c.Close() } }
