package papers

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/workload"
)

// AlibabaFile is the trace's path within the folder of public traces.
const AlibabaFile = "alibaba2018_machine_usage/cluster_mean_10s_8days.csv.gz"

// ReadAlibaba reads the mean CPU of the Alibaba cluster of 2018 as request rates with a peak of
// 1, in bins of a minute. Utilisation is taken as proportional to load, and missing readings as
// equal to the one before: they are a fifth of one day, which is not used for evaluation.
func ReadAlibaba(r io.Reader) (*workload.Workload, error) {
	profile, err := workload.ProportionalProfile(1)
	if err != nil {
		return nil, err
	}
	w, _, err := workload.Read(r, "alibaba 2018, mean of all machines",
		workload.Options{Profile: profile, Gaps: workload.GapsHold, Peak: 1})
	if err != nil {
		return nil, fmt.Errorf("alibaba trace: %w", err)
	}
	return w.Resample(minute)
}

// alibaba is the load of DRPC's experiment with a peak of 1, and a sentence on its source.
func (o Options) alibaba() (*workload.Workload, string, error) {
	if o.Alibaba != nil {
		return o.Alibaba, "The load is the mean CPU of the Alibaba cluster of 2018 (8 days), proportional to its utilisation.", nil
	}
	w, err := workload.Parse("diurnal:low=0.4,high=0.9,period=24h,peak=6h+noise:cv=0.06,corr=10m", drpcDays*24*time.Hour, minute, 1)
	if err != nil {
		return nil, "", err
	}
	w, err = w.Peak(1)
	return w, "The Alibaba trace is not at hand: a generated load (one wave a day, noise) takes its place.", err
}

const (
	drpcDays   = 8
	drpcPeak   = 100.0 // requests/s
	drpcNodes  = 4
	drpcCores  = 8.0
	drpcMemory = int64(8 << 30)
)

// drpcSetup is the application on the paper's cluster under its load: the parts for training,
// for calibrating HPA and for evaluation, in order of time.
type drpcSetup struct {
	app                     *loadline.App
	train, validation, test *workload.Workload
	peak                    float64
	whence                  string
	trace                   *workload.Workload // with a peak of 1
	few                     bool
}

func newDRPCSetup(o Options, length time.Duration) (*drpcSetup, error) {
	name, peak := "trainticket", drpcPeak
	if o.few {
		name, peak = "bookinfo", 120
	}
	app, err := appNamed(name)
	if err != nil {
		return nil, err
	}
	onPaperNodes(app)
	trace, whence, err := o.alibaba()
	if err != nil {
		return nil, err
	}
	load, err := trace.Scale(peak)
	if err != nil {
		return nil, err
	}
	if !o.few {
		load.Mix = drpcMix(load.Duration())
	}
	s := &drpcSetup{app: app, peak: peak, whence: whence, trace: trace, few: o.few}
	// Most readings of the second day are missing.
	from, days := 0.25, []float64{5, 6}
	if o.few {
		days = []float64{0.5, 0.75}
	}
	day := load.Duration() / drpcDays
	at := func(days float64) time.Duration { return time.Duration(days * float64(day)).Truncate(load.Step) }
	if !o.few {
		from = 2
	}
	if s.train, err = load.Slice(at(from), at(days[0])); err != nil {
		return nil, err
	}
	if s.validation, err = load.Slice(at(days[0]), at(days[1])); err != nil {
		return nil, err
	}
	if s.test, err = load.Slice(at(days[1]), load.Duration()); err != nil {
		return nil, err
	}
	if s.validation, err = lively(s.validation, length); err != nil {
		return nil, err
	}
	s.test, err = lively(s.test, length)
	return s, err
}

// onPaperNodes puts an application on the paper's workers. Replicas request and are limited to
// the memory they use plus a quarter: with the requests of the application's manifests, more
// would be placed than the machines can hold.
func onPaperNodes(app *loadline.App) {
	app.Nodes = nil
	for i := range drpcNodes {
		app.Nodes = append(app.Nodes, loadline.Node{Name: fmt.Sprintf("worker-%d", i+1), Cores: drpcCores, Memory: drpcMemory})
	}
	const unit = 16 << 20
	for i := range app.Services {
		s := &app.Services[i]
		need := max(s.Memory.Base*5/4, 4*unit)
		s.Size.MemoryRequest = (need + unit - 1) / unit * unit
		s.Size.MemoryLimit = s.Size.MemoryRequest
		s.Bounds.MinMemory = min(s.Bounds.MinMemory, s.Size.MemoryRequest)
		s.Bounds.MaxMemory = max(1<<30, s.Size.MemoryRequest)
		s.Bounds.MaxReplicas = min(s.Bounds.MaxReplicas, drpcReplicas)
	}
}

// drpcReplicas is the maximum of a service: a fifth of what the machines can hold.
const drpcReplicas = 12

// drpcUser is one of the paper's four kinds of users: their share, how far and when it drifts,
// and their requests.
type drpcUser struct {
	name          string
	share         float64
	daily, hourly float64 // how far the share swings within a day, and within hours
	phase         float64
	pages         map[string]float64
}

// drpcUsers: the paper gives their names only. Their requests are our choice: pages of the
// application that such a user visits.
var drpcUsers = []drpcUser{
	{"query", 0.60, 0.2, 0.15, 0, map[string]float64{"query": 48, "other": 35, "login": 12, "plan": 5}},
	{"buy", 0.25, 0.4, 0.3, 1.5, map[string]float64{"query": 25, "login": 15, "orders": 15, "buy": 14, "buy-other": 9, "pay": 14,
		"collect": 8}},
	{"cancel", 0.10, 0.5, 0.4, 3, map[string]float64{"orders": 45, "cancel": 25, "login": 20, "rebook": 10}},
	{"admin", 0.05, 0.5, 0.2, 4.5, map[string]float64{"admin": 60, "login": 20, "orders": 20}},
}

// drpcKinds of requests, in a fixed order.
var drpcKinds = []string{"query", "other", "login", "plan", "orders", "buy", "buy-other", "pay", "collect", "cancel", "rebook", "admin"}

const (
	drpcMixStep = 10 * minute
	drpcSwing   = 5 * time.Hour
)

// drpcMix is how requests divide among kinds while the shares of users drift.
func drpcMix(d time.Duration) *workload.Mix {
	m := &workload.Mix{Kinds: drpcKinds, Step: drpcMixStep}
	for at := time.Duration(0); at < d; at += drpcMixStep {
		shares := map[string]float64{}
		for _, u := range drpcUsers {
			wave := func(period time.Duration, by float64) float64 {
				return 1 + by*math.Sin(2*math.Pi*at.Hours()/period.Hours()+u.phase)
			}
			users := u.share * wave(24*time.Hour, u.daily) * wave(drpcSwing, u.hourly)
			for kind, page := range u.pages {
				shares[kind] += users * page / 100
			}
		}
		for _, kind := range drpcKinds {
			m.Shares = append(m.Shares, shares[kind])
		}
	}
	return m
}
