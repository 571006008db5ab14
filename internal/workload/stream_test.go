package workload

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

// endless generates rows on demand, so that a stream of any size needs no file, and monitors
// the heap while it is read.
type endless struct {
	rows int
	row  func(buf []byte, i int) []byte
	next int
	left []byte
	buf  []byte
	made int
	heap uint64 // maximum in use
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		if e.next == e.rows {
			return 0, io.EOF
		}
		e.buf = e.buf[:0]
		for len(e.buf) < 1<<15 && e.next < e.rows {
			e.buf = e.row(e.buf, e.next)
			e.next++
		}
		e.left = e.buf
		if e.made>>20 != (e.made+len(e.buf))>>20 {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			e.heap = max(e.heap, stats.HeapAlloc)
		}
		e.made += len(e.buf)
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// A file of any size is read in memory that depends on its bins only.
func TestMemoryIsBoundedWhateverTheLength(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		limit uint64 // bytes, uncollected garbage included
		row   func(buf []byte, i int) []byte
	}{
		{"alibaba2018-machine", 1_000_000, 12 << 20, func(buf []byte, i int) []byte {
			return fmt.Appendf(buf, "m_%d,%d,%d,92,,,43.04,33.08,5\n", i%4000, i/4000*10, i%101)
		}},
		{"google2011", 300_000, 12 << 20, func(buf []byte, i int) []byte {
			at := 600 + i/10000*300
			return fmt.Appendf(buf, "%d000000,%d000000,%d,%d,42,0.01,0.1,0.1,0,0,0.2,0,0,0.9,0,,,1,0,0.1\n", at, at+300, i%77, i)
		}},
		{"alibaba2021-callgraph", 600_000, 48 << 20, func(buf []byte, i int) []byte {
			if i == 0 {
				buf = append(buf, "timestamp,traceid,rpcid,um,rpctype,interface,dm,rt\n"...)
			}
			return fmt.Appendf(buf, "%d,t%d,0.%d,a,rpc,i,b,3\n", i/10, i/2, i%2+1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("streams tens of megabytes")
			}
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			stream := &endless{rows: c.rows, row: c.row}
			s, err := ReadSeries(stream, c.name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if used := stream.heap - min(stream.heap, before.HeapAlloc); used > c.limit {
				t.Errorf("%d MB of rows took %d MB", stream.made>>20, used>>20)
			}
			if s.Report.Rows != int64(c.rows) || s.Report.Format != c.name {
				t.Errorf("%+v", s.Report)
			}
		})
	}
}

func TestRecentForgets(t *testing.T) {
	r := newRecent(10)
	for i := range 1000 {
		if !r.add(fmt.Append(nil, i)) {
			t.Fatalf("%d is not new", i)
		}
		if r.add(fmt.Append(nil, i)) {
			t.Fatalf("%d is new twice", i)
		}
		if len(r.known) > 10 || len(r.ring) > 10 {
			t.Fatalf("%d ids kept", len(r.known))
		}
	}
}

func TestMonthOfSecondsIsFine(t *testing.T) {
	w, err := Parse("weekly+noise", 31*24*time.Hour, time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Rates) != 2678400 {
		t.Errorf("%d bins", len(w.Rates))
	}
}

func BenchmarkReadAlibaba2018(b *testing.B) {
	stream := &endless{rows: b.N, row: func(buf []byte, i int) []byte {
		return append(buf, "m_1932,386640,41,92,,,43.04,33.08,5\n"...)
	}}
	b.SetBytes(36)
	if _, err := ReadSeries(stream, "bench", Options{}); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkLoadRate(b *testing.B) {
	w, err := Parse("day+mix:buy=1..2,query=2..1", 0, 0, 1)
	if err != nil {
		b.Fatal(err)
	}
	load, err := w.For(twoKinds())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		load.Rate(i&1, time.Duration(i%86400)*time.Second)
	}
}
