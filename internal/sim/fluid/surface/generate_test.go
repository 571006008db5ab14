package surface

import (
	"flag"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loadline/loadline/internal/atomicfile"
)

var update = flag.Bool("update", false, "measure the surface and write table.bin (many minutes)")

// The seed of all stations, and the visits per cell at low load; loaded cells get more,
// since their neighbours in time are alike.
const (
	tableSeed   = 1
	tableVisits = 80_000
)

// TestGenerate measures the load-latency surface by simulating single stations, one for
// each cell of the grid, and writes the table that the package embeds. The bytes do not
// depend on the number of cores.
func TestGenerate(t *testing.T) {
	if !*update {
		t.Skip("go generate runs it with -update")
	}
	stations := grid()
	cells := make([]Cell, len(stations))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(stations)); i = next.Add(1) - 1 {
				cells[i] = stations[i].measure(tableSeed, uint64(i), tableVisits)
			}
		})
	}
	wg.Wait()
	n := SharedCells()
	table := Encode(cells[:n], cells[n:])
	if err := atomicfile.Write("table.bin", func(w io.Writer) error { _, err := w.Write(table); return err }); err != nil {
		t.Fatal(err)
	}
}

// grid lists the stations in the order of the table.
func grid() []station {
	var all []station
	for _, cores := range SharedCores {
		for _, cv := range Variation {
			for _, load := range Load {
				all = append(all, station{cores: cores, cv: cv, load: load})
			}
		}
	}
	for _, cores := range QuotaCores {
		for _, demand := range QuotaDemand {
			for _, cv := range Variation {
				for _, load := range Load {
					all = append(all, station{cores: cores, cv: cv, load: load, period: 1 / demand})
				}
			}
		}
	}
	return all
}
