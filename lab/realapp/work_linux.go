package realapp

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline/loadline/lab/burn"
)

// Prepare lets a process spend its CPU time on visits only, see burn.Prepare.
func Prepare() error { return burn.Prepare() }

// wait without the CPU.
func wait(d time.Duration) { burn.Sleep(d) }

// held is memory outside Go's heap: it is returned to the system at once, and no collection is work
// that nobody has asked for.
type held struct{ bytes []byte }

// hold takes memory and writes to every page, so that it is in use.
func hold(size int64) (*held, error) {
	if size <= 0 {
		return nil, nil
	}
	bytes, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("take %d bytes of memory: %w", size, err)
	}
	for i := 0; i < len(bytes); i += unix.Getpagesize() {
		bytes[i] = 1
	}
	return &held{bytes}, nil
}

func (h *held) free() {
	if h != nil {
		_ = unix.Munmap(h.bytes) // it cannot fail for what Mmap returned
	}
}

// work burns the CPU time of a visit, in which it takes its memory.
func work(cpu time.Duration, memory int64) (h *held, err error) {
	burn.CPU(cpu, func() { h, err = hold(memory) })
	return h, err
}

// burnSlice is how long a thread that burns less than a core works and pauses once.
const burnSlice = 10 * time.Millisecond

// burnOn uses so many cores for a time, if it gets them, and never more: the work takes longer on a
// crowded node or under a limit.
func burnOn(cores float64, d time.Duration) {
	threads := max(int(math.Ceil(cores)), 1)
	share := cores / float64(threads)
	var group sync.WaitGroup
	for range threads {
		group.Go(func() {
			for left := time.Duration(share * float64(d)); left > 0; {
				work := min(left, time.Duration(share*float64(burnSlice)))
				began := time.Now()
				burn.CPU(work, nil)
				left -= work
				burn.Sleep(time.Duration(float64(work)/share) - time.Since(began))
			}
		})
	}
	group.Wait()
}
