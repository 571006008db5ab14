// Command gen measures the load-latency surface by simulating single stations,
// one for each cell of the grid, and writes the table that package surface
// embeds. The same seed gives the same bytes, whatever the number of cores.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "table.bin", "file to write")
	seed := flags.Uint64("seed", 1, "seed of all stations")
	visits := flags.Float64("visits", 80_000,
		"visits per cell at low load; loaded cells get more, since their neighbours in time are alike")
	if flags.Parse(args) != nil {
		return 2
	}
	stations := grid()
	cells := make([]surface.Cell, len(stations))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(stations)); i = next.Add(1) - 1 {
				cells[i] = stations[i].measure(*seed, uint64(i), *visits)
			}
		})
	}
	wg.Wait()
	n := surface.SharedCells()
	table := surface.Encode(cells[:n], cells[n:])
	if err := atomicfile.Write(*out, func(w io.Writer) error { _, err := w.Write(table); return err }); err != nil {
		fmt.Fprintln(stderr, "gen:", err)
		return 1
	}
	return 0
}

// grid lists the stations in the order of the table.
func grid() []station {
	var all []station
	for _, cores := range surface.SharedCores {
		for _, cv := range surface.Variation {
			for _, load := range surface.Load {
				all = append(all, station{cores: cores, cv: cv, load: load})
			}
		}
	}
	for _, cores := range surface.QuotaCores {
		for _, demand := range surface.QuotaDemand {
			for _, cv := range surface.Variation {
				for _, load := range surface.Load {
					all = append(all, station{cores: cores, cv: cv, load: load, period: 1 / demand})
				}
			}
		}
	}
	return all
}
