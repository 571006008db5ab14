package loadline

import (
	"slices"
	"time"
)

// App is a model of an application: its services, the kinds of requests that
// its users send, and the nodes it runs on. It is data; the file format is
// internal/apps, which also checks it. Fields that came later are left out of JSON
// while they are zero, so that what was kept before reads and compares as it did.
type App struct {
	Name        string
	Description string
	Services    []Service
	Kinds       []Kind
	Nodes       []Node
	Routing     Routing
	KeepAlive   KeepAlive `json:",omitzero"` // with RouteKeepAlive only

	// Tenants are the applications of one cluster that are joined in this one, in the order of
	// their services and kinds; none = it is a single application.
	Tenants []Tenant `json:",omitempty"`
}

// Tenant is one of several applications that are joined in one App. Its services and kinds follow
// those of the tenants before it.
type Tenant struct {
	Name            string
	Services, Kinds int // how many it has
}

// TenantRange is a tenant with its place in the App that it is joined in.
type TenantRange struct {
	Tenant
	FirstService, FirstKind int
}

// TenantRanges are the tenants of an application; one that has everything without any.
func (a *App) TenantRanges() []TenantRange {
	if len(a.Tenants) == 0 {
		return []TenantRange{{Tenant: Tenant{a.Name, len(a.Services), len(a.Kinds)}}}
	}
	all := make([]TenantRange, 0, len(a.Tenants))
	var service, kind int
	for _, t := range a.Tenants {
		all = append(all, TenantRange{t, service, kind})
		service, kind = service+t.Services, kind+t.Kinds
	}
	return all
}

// Service is one deployment: identical replicas behind one name.
type Service struct {
	Name string

	CPU      Dist    // CPU time of one visit, before the versions' factors
	Wait     Dist    // time of one visit spent neither on the CPU nor in calls (disk, locks, network)
	IdleCPU  float64 // cores that a ready replica uses without any request
	Workers  int     // requests that a replica works on at once; a worker is occupied until its reply, calls included
	Backlog  int     // requests that may wait for a worker, per replica; more are refused
	Hold     int     // requests held while no replica is ready, as Knative's activator does; 0 = they are refused
	Memory   Memory
	Startup  Dist // from binding to ready
	Replicas int  // at the start of a run
	Size     Size // per replica, at the start of a run
	Bounds   Bounds
	Versions []Version // weights need not sum to 1; none means one version that changes nothing

	// StartupCPU is the cores that a replica uses while it starts. Its start-up is then an
	// amount of work, which takes longer under a smaller CPU limit or on a crowded node.
	StartupCPU float64 `json:",omitzero"`

	// Contention is how much CPU time each other request at work in the replica adds to a visit, as
	// a share of its own: locks and caches that requests share, as in a database.
	Contention float64 `json:",omitzero"`

	// OptionalPrice is the cost of one dropped optional call to this service, in units of one
	// request over its SLO: brownout is never free.
	OptionalPrice float64

	// RetryBudget limits the retries of the service's own calls to a share of its calls that have
	// retries; 0 = no limit.
	RetryBudget float64 `json:",omitzero"`
}

// Memory of a replica in use: Base + PerRequest * (requests in the replica).
type Memory struct {
	Base       int64 // bytes
	PerRequest int64 // bytes
}

// Size is the requests and limits of one replica. A limit of 0 means none.
type Size struct {
	CPURequest    float64 // cores
	CPULimit      float64 // cores
	MemoryRequest int64   // bytes
	MemoryLimit   int64   // bytes
}

// Bounds are the user's: nothing may be set outside them.
type Bounds struct {
	MinReplicas, MaxReplicas int
	MinCPU, MaxCPU           float64 // cores, request and limit alike
	MinMemory, MaxMemory     int64   // bytes, request and limit alike
}

// Version is one release of a service. A visit runs one version, drawn by
// weight; calls may be made by some versions only.
type Version struct {
	Name   string
	Weight float64 // share of visits, relative to the other versions; 0 = not deployed yet
	CPU    float64 // factor on the service's CPU time
	Wait   float64 // factor on the service's waiting time
}

// Kind is one kind of request that users send.
type Kind struct {
	Name    string
	Share   float64 // of all requests, relative to the other kinds, unless the workload sets its own
	SLO     SLO
	Timeout time.Duration // of one attempt of the client; 0 = none
	Retries Retries       `json:",omitzero"` // of the client

	// RetryBudget limits the retries of all clients together to a share of their requests; 0 = no
	// limit.
	RetryBudget float64 `json:",omitzero"`

	Users Users `json:",omitzero"` // the zero value: requests arrive independently of the replies (open loop)
	Root  Call  // its Timeout and Retries are not used: those above apply
}

// Retries of a call that failed, timed out or was refused.
type Retries struct {
	Attempts int           // after the first one; 0 = none
	Backoff  time.Duration // the n-th retry waits up to (2^n - 1) times as long, 10 times at most, uniformly distributed
}

// Users make a kind of request a closed loop. A user sends Requests one after the other, each a
// thinking time after the reply to the last one. Users arrive at the rate of the load divided by
// Requests, so that the load remains the demand in requests per second.
type Users struct {
	Requests int           // of one user; 0 = open loop
	Think    Dist          // from a reply to the next request
	Patience time.Duration // of a user who waits for a reply
	Leave    float64       // probability that a user leaves after a request that failed or took longer than Patience
}

// SLO reads "Percentile of requests within Latency": {99, 250ms}.
type SLO struct {
	Percentile float64 // in (0, 100)
	Latency    time.Duration
}

// Call is one visit to a service: its own work first, then its stages in sequence; the calls of
// one stage run in parallel and the stage ends with the last of them.
type Call struct {
	Service     int     // index into App.Services
	Probability float64 // that the call is made
	Times       int     // repetitions, in sequence
	Work        float64 // factor on the service's CPU and waiting time
	Optional    bool    // may be dropped by brownout; its failure is ignored
	Versions    []int   // made only by these versions of the caller (indices); empty = by all
	Stages      [][]Call

	Timeout time.Duration `json:",omitzero"` // after which the caller gives an attempt up, while the callee works on; 0 = none
	Retries Retries       `json:",omitzero"` // by the caller; each repetition has its own
}

// Node is a machine that replicas are placed on.
type Node struct {
	Name   string
	Cores  float64
	Memory int64 // bytes
}

// Routing chooses the replica of a call.
type Routing int

const (
	RouteRandom       Routing = iota // uniformly among the ready replicas
	RouteLeastRequest                // of two drawn at random, the one with fewer requests
	RouteKeepAlive                   // over connections that stay with the replica they were opened to
)

// KeepAlive is how callers keep connections. Each request takes one of its caller's connections,
// drawn at random. A connection is opened to a ready replica, drawn at random, and replaced when
// it has expired or its replica drains or stops.
type KeepAlive struct {
	Connections int           // of one calling replica to one service
	Users       int           // of the clients of one kind of request together
	Lifetime    time.Duration // of a connection; 0 = as long as its replica is ready
}

// Shape is the family of a distribution.
type Shape int

const (
	Lognormal Shape = iota
	Exponential
)

// Dist is a positive random time. CV is the coefficient of variation (standard
// deviation over mean); 0 makes it a constant. Exponential has CV 1 by nature
// and ignores the field.
type Dist struct {
	Mean  time.Duration
	CV    float64
	Shape Shape
}

// overVersions is the mean of a factor over the service's visits, weighted by version; 1 for a
// service without versions.
func (s *Service) overVersions(of func(*Version) float64) float64 {
	sum, all := 0.0, 0.0
	for i := range s.Versions {
		v := &s.Versions[i]
		sum += v.Weight * of(v)
		all += v.Weight
	}
	if all == 0 {
		return 1
	}
	return sum / all
}

// VersionCPU is the mean factor of the service's versions on its CPU time.
func (s *Service) VersionCPU() float64 {
	return s.overVersions(func(v *Version) float64 { return v.CPU })
}

// VersionWait is the mean factor of the service's versions on its waiting time.
func (s *Service) VersionWait() float64 {
	return s.overVersions(func(v *Version) float64 { return v.Wait })
}

// VersionShare is the share of the service's visits whose version makes a call: all of them if
// the call names none.
func (s *Service) VersionShare(versions []int) float64 {
	if len(versions) == 0 {
		return 1
	}
	some, all := 0.0, 0.0
	for i, v := range s.Versions {
		all += v.Weight
		if slices.Contains(versions, i) {
			some += v.Weight
		}
	}
	if all == 0 {
		return 0
	}
	return some / all
}

// ServiceIndex returns the index of the named service, or -1.
func (a *App) ServiceIndex(name string) int {
	for i := range a.Services {
		if a.Services[i].Name == name {
			return i
		}
	}
	return -1
}

// KindIndex returns the index of the named kind of request, or -1.
func (a *App) KindIndex(name string) int {
	for i := range a.Kinds {
		if a.Kinds[i].Name == name {
			return i
		}
	}
	return -1
}

// Optional reports for each service whether every call to it may be dropped.
func (a *App) Optional() []bool {
	called, needed := make([]bool, len(a.Services)), make([]bool, len(a.Services))
	var walk func(c *Call)
	walk = func(c *Call) {
		called[c.Service] = true
		needed[c.Service] = needed[c.Service] || !c.Optional
		for _, stage := range c.Stages {
			for i := range stage {
				walk(&stage[i])
			}
		}
	}
	for k := range a.Kinds {
		walk(&a.Kinds[k].Root)
	}
	for i := range called {
		called[i] = called[i] && !needed[i]
	}
	return called
}
