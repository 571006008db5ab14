package twin

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/history"
)

// Names of this package that the tests outside it use: those run simulations, and the simulator's
// policies read histories by this package.
var (
	CallsUnder = callsUnder
	Value      = value
	Visit      = visit
)

const (
	MaxKinds    = maxKinds
	ManyWorkers = manyWorkers
)

func TestTheNeighboursDayBeginsWithTheHeldOutPart(t *testing.T) {
	// 40 h, of which the last 8 are held out. Others use half of a node between 0 and 6 h of each
	// day, and a tenth otherwise.
	h := &history.History{Step: 5 * time.Minute, Steps: 40 * 12}
	node := history.Node{Name: "a"}
	for m := range node.Series {
		node.Series[m] = make(history.Series, h.Steps)
	}
	for i := range h.Steps {
		node.Series[history.NodeCPUAllocatable][i], node.Series[history.NodeMemoryAllocatable][i] = 4, 8<<30
		node.Series[history.NodePods][i] = 1
		node.Series[history.NodeOthersCPU][i] = 0.4
		if hour := i / 12 % 24; hour < 6 {
			node.Series[history.NodeOthersCPU][i] = 2
		}
	}
	h.Nodes = []history.Node{node}
	p := &past{h: h, cut: 32 * 12, step: 300}
	shape := p.othersShape()
	if len(shape.Factor) != 96 {
		t.Fatalf("%d factors, want those of a day", len(shape.Factor))
	}
	// The held-out part begins at hour 8 of the day: 16 quiet hours, 6 busy ones, 2 quiet ones.
	for _, c := range []struct {
		hour, want float64
	}{{0, 0.5}, {15.5, 0.5}, {16, 2.5}, {21.5, 2.5}, {22, 0.5}} {
		near(t, "the factor", shape.At(time.Duration(c.hour*float64(time.Hour))), c.want, 0.01)
	}
}

func TestKindsAreSeparatedAsFarAsTheRowsAllow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	// Of three kinds the first two always come together; the third varies by itself.
	rows := make([]cpuRow, 600)
	for i := range rows {
		together, alone := 30+20*math.Sin(float64(i)/40), 15+10*math.Sin(float64(i)/23)
		kinds := []float64{together, 0.5 * together, alone}
		cpu := 0.05 + 0.004*kinds[0] + 0.010*kinds[1] + 0.020*kinds[2]
		rows[i] = cpuRow{from: i, rate: kinds[0] + kinds[1] + kinds[2], cpu: cpu * (1 + 0.03*rng.NormFloat64()), kinds: kinds}
	}
	for range 6 {
		rows[rng.IntN(len(rows))].cpu *= 10
	}
	w, pools := fitWorks(rows, []int{0, 1, 2}, fitCPU(rows))
	if w == nil || len(pools) != 2 || len(pools[0].kinds)+len(pools[1].kinds) != 3 {
		t.Fatalf("pools %+v, want the first two kinds in one and the third in another", pools)
	}
	near(t, "the first two, ms", 1000*pools[0].cpu, 6, 0.3) // (4 + 0.5*10) / 1.5
	near(t, "the third, ms", 1000*pools[1].cpu, 20, 0.6)
	if e := pools[1].error; !(e > 1e-5 && e < 1e-3) {
		t.Errorf("standard error %v of the third, want about 0.1 ms", e)
	}
	factor, perVisit := w.factors(rows, 3)
	near(t, "the mean of the factors", heaviness(factor, rows[0].kinds)*perVisit*rows[0].rate+w.idle, rows[0].cpu, 0.12*rows[0].cpu)
	alike := slices.Clone(rows)
	for i := range alike {
		alike[i].cpu = 0.05 + 0.01*alike[i].rate*(1+0.03*rng.NormFloat64())
	}
	if w, _ := fitWorks(alike, []int{0, 1, 2}, fitCPU(alike)); w != nil {
		t.Errorf("kinds of the same CPU time are told apart: %+v", w.pools)
	}
}

func near(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if !(math.Abs(got-want) <= off) {
		t.Errorf("%s is %.6g, want %.6g within %.3g", what, got, want, off)
	}
}
