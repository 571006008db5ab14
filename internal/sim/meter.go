package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// Window is the length of the windows whose percentile is compared with the SLO.
const Window = time.Minute

// meterBits is the resolution of the latencies in results.
const meterBits = 7

// Meter is what is measured of a run. Engines write it, results read it.
type Meter struct {
	WarmUp   time.Duration
	Kinds    []KindMeter
	Services []ServiceMeter

	Windows, WindowsViolated float64 // minutes with traffic; of them, those in which some kind violated its SLO
	ReplicaSeconds           float64
	Changes                  float64 // settings that were applied and changed something

	// The bill, in Config.Cluster.Prices.Currency, and what it is for: node time paid for,
	// by node and by core. Of a pool that others use too, only the application's share.
	Bill                         float64
	NodeSeconds, NodeCoreSeconds float64
	// CPU requested by pods from binding to deletion, and used by them.
	AllocatedCoreSeconds, UsedCoreSeconds float64
	// Nodes that elastic pools bought and gave back, the first ones included, and pods that
	// were moved for it.
	NodesAdded, NodesRemoved, Drained float64
	Evictions                         float64 // of pods, by nodes short of memory
	// Resizes that had to wait for room on the node, and those that the node was too small for.
	ResizesDeferred, ResizesInfeasible float64

	slo        []loadline.SLO
	windowEnds time.Duration
}

// KindMeter counts requests of one kind. Arrived = Completed + Failed + those
// still in flight, at every instant.
type KindMeter struct {
	Arrived, Completed, Failed float64
	TimedOut                   float64 // of the failed ones
	Retried                    float64 // attempts after the first one; a request that is retried is still in flight

	// After warm-up:
	Ended   float64    // completed, failed, or not sent
	Over    float64    // of them: failed, or slower than the SLO
	Left    float64    // requests that users who left have not sent; they count as ended and over the SLO
	Latency *Histogram // of the completed ones

	Exported      *Histogram // as an exporter would show it; from the start
	ExportedOver  float64
	ExportedEnded float64

	windowEnded, windowOver float64
}

// ServiceMeter counts visits to one service, from the start of the run.
type ServiceMeter struct {
	Arrived, Ended, Failed, Refused float64
	OptionalAsked, OptionalDropped  float64
	Retried                         float64 // calls to it that repeat a failed one; users' requests are in KindMeter
	BusySeconds, QueueSeconds       float64 // filled in by Engine.Read
	CPUSeconds                      float64 // filled in by Engine.Read
	Periods, ThrottledPeriods       float64
	ThrottledSeconds                float64
	Restarts                        float64
	Latency, Own                    *Histogram

	CoreSeconds, ByteSeconds float64 // the cost: integral of max(request, usage)
	ReplicaSeconds           float64
	Changes                  float64
}

// NewMeter makes a meter for an app.
func NewMeter(app *loadline.App, warmUp time.Duration) *Meter {
	m := &Meter{
		WarmUp:     warmUp,
		Kinds:      make([]KindMeter, len(app.Kinds)),
		Services:   make([]ServiceMeter, len(app.Services)),
		slo:        make([]loadline.SLO, len(app.Kinds)),
		windowEnds: warmUp + Window,
	}
	for i := range m.Kinds {
		m.Kinds[i].Latency = NewHistogram(meterBits)
		m.Kinds[i].Exported = NewHistogram(ExporterBits)
		m.slo[i] = app.Kinds[i].SLO
	}
	for i := range m.Services {
		m.Services[i].Latency = NewHistogram(ExporterBits)
		m.Services[i].Own = NewHistogram(ExporterBits)
	}
	return m
}

// Completed counts one successful request.
func (m *Meter) Completed(kind int, arrived, now time.Duration) {
	m.CompletedAttempt(kind, arrived, arrived, now)
}

// CompletedAttempt counts one successful request whose last attempt was sent at the given
// instant. Its user has waited since it arrived; exporters see the attempt only.
func (m *Meter) CompletedAttempt(kind int, arrived, sent, now time.Duration) {
	k := &m.Kinds[kind]
	k.Completed++
	k.Exported.Add(int64(now - sent))
	k.ExportedEnded++
	k.ExportedOver += m.over(kind, now-sent)
	if arrived < m.WarmUp {
		return
	}
	k.Latency.Add(int64(now - arrived))
	m.ended(k, now, 1, m.over(kind, now-arrived))
}

// over is 1 for a response time over the SLO, and 0 otherwise.
func (m *Meter) over(kind int, took time.Duration) float64 {
	if slo := m.slo[kind].Latency; slo > 0 && took > slo {
		return 1
	}
	return 0
}

// Retried counts one failed attempt of a request that is retried: exporters see an attempt that
// failed.
func (m *Meter) Retried(kind int) {
	k := &m.Kinds[kind]
	k.Retried++
	k.ExportedEnded++
	k.ExportedOver++
}

// Left counts the requests that a user who leaves would still have sent. They count as over the
// SLO: otherwise a policy that drives users away would look cheap. Exporters do not see them.
func (m *Meter) Left(kind int, now time.Duration, requests float64) {
	if now >= m.WarmUp {
		m.Kinds[kind].Left += requests
		m.ended(&m.Kinds[kind], now, requests, requests)
	}
}

// Failed counts one request that failed.
func (m *Meter) Failed(kind int, arrived, now time.Duration) {
	k := &m.Kinds[kind]
	k.Failed++
	k.ExportedEnded++
	k.ExportedOver++
	if arrived >= m.WarmUp {
		m.ended(k, now, 1, 1)
	}
}

// EndedMany counts requests that ended at one instant: the total, and how many were over the
// SLO (failed ones included). The caller adds the latencies.
func (m *Meter) EndedMany(kind int, now time.Duration, ended, over float64) {
	k := &m.Kinds[kind]
	k.ExportedEnded += ended
	k.ExportedOver += over
	if now >= m.WarmUp {
		m.ended(k, now, ended, over)
	}
}

func (m *Meter) ended(k *KindMeter, now time.Duration, ended, over float64) {
	if now >= m.windowEnds {
		m.closeWindows(now)
	}
	k.Ended += ended
	k.Over += over
	k.windowEnded += ended
	k.windowOver += over
}

// closeWindows evaluates the window that has ended. Windows without traffic are
// not counted.
func (m *Meter) closeWindows(now time.Duration) {
	m.evaluateWindow()
	m.windowEnds += (now - m.windowEnds + Window) / Window * Window
}

func (m *Meter) evaluateWindow() {
	traffic, violated := false, false
	for i := range m.Kinds {
		k := &m.Kinds[i]
		if k.windowEnded > 0 {
			traffic = true
			if k.windowOver/k.windowEnded > 1-m.slo[i].Percentile/100 {
				violated = true
			}
		}
		k.windowEnded, k.windowOver = 0, 0
	}
	if traffic {
		m.Windows++
		if violated {
			m.WindowsViolated++
		}
	}
}

// Finish evaluates the last, possibly shorter window. Call it once, at the end.
func (m *Meter) Finish() { m.evaluateWindow() }

// InFlight is the number of requests of a kind that have not ended.
func (k *KindMeter) InFlight() float64 { return k.Arrived - k.Completed - k.Failed }

// Latency is that of all kinds together.
func (m *Meter) Latency() *Histogram { return m.LatencyOf(0, len(m.Kinds)) }

// LatencyOf is that of some consecutive kinds together.
func (m *Meter) LatencyOf(first, count int) *Histogram {
	all := NewHistogram(meterBits)
	for i := range count {
		all.Merge(m.Kinds[first+i].Latency)
	}
	return all
}
