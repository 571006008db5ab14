package validate

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// HotelModel is a CPU demand per request for each service. Each replica has one core (its limit
// in the measured deployment), so a service with r replicas serves r/demand requests per
// second, and the application as many as its bottleneck.
type HotelModel struct {
	Services []string  `json:"services"`
	DemandMs []float64 `json:"demand_ms"`
}

// throughput in closed form.
func (m *HotelModel) throughput(replicas []float64) float64 {
	least := hotelOffered
	for i, r := range replicas {
		least = min(least, r/(m.DemandMs[i]/1000))
	}
	return least
}

// fitHotel finds the demands by coordinate search on the mean error of the throughput. A demand
// close to zero means that the service is never the bottleneck.
func fitHotel(windows []hotelWindow, services []string) HotelModel {
	m := HotelModel{Services: services, DemandMs: slices.Repeat([]float64{0.01}, len(services))}
	best := m.distance(windows)
	for changed, rounds := true, 0; changed && rounds < 5; rounds++ {
		changed = false
		for i := range services {
			keep := m.DemandMs[i]
			for demand := 0.01; demand < 6; demand *= 1.1 {
				m.DemandMs[i] = demand
				if off := m.distance(windows); off < best-1e-9 {
					best, keep, changed = off, demand, true
				}
			}
			m.DemandMs[i] = keep
		}
	}
	return m
}

func (m *HotelModel) distance(windows []hotelWindow) float64 {
	sum := 0.0
	for i := range windows {
		sum += math.Abs(m.throughput(windows[i].Replicas) - windows[i].Completed)
	}
	return sum / float64(len(windows))
}

// hotelKinds are the kinds of requests of hotel-reservation (DeathStarBench, its mixed
// workload): share, and the services visited, stage by stage.
var hotelKinds = []struct {
	name   string
	share  float64
	stages [][]string
}{
	{"search", 0.6, [][]string{{"search"}, {"geo", "rate"}, {"mongodb-geo", "memcached-rate"}, {"mongodb-rate"}, {"reservation"},
		{"memcached-reserve"}, {"mongodb-reservation"}, {"profile"}, {"memcached-profile"}, {"mongodb-profile"}}},
	{"recommend", 0.39, [][]string{{"recommendation"}, {"mongodb-recommendation"}, {"profile"}, {"memcached-profile"},
		{"mongodb-profile"}}},
	{"user", 0.005, [][]string{{"user"}, {"mongodb-user"}}},
	{"reserve", 0.005, [][]string{{"user"}, {"mongodb-user"}, {"reservation"}, {"memcached-reserve"}, {"mongodb-reservation"}}},
}

// visits per request of each service over the mix of kinds.
func hotelVisits(services []string) []float64 {
	visits := make([]float64, len(services))
	for i, name := range services {
		for _, k := range hotelKinds {
			if name == "frontend" {
				visits[i] += k.share
			}
			for _, stage := range k.stages {
				if slices.Contains(stage, name) {
					visits[i] += k.share
				}
			}
		}
	}
	return visits
}

// app is the call graph with the fitted demands behind the client of 32 connections. A demand
// per request is divided among a service's visits; services that no request visits (consul,
// jaeger) have no demand.
func (m *HotelModel) app(replicas []float64) *loadline.App {
	client := server("client", loadline.Dist{}, 0, 1, loadline.Size{})
	client.Workers = hotelConnections
	app := &loadline.App{Name: "hotel", Services: []loadline.Service{client}}
	visits := hotelVisits(m.Services)
	size := loadline.Size{CPURequest: 1, CPULimit: 1}
	for i, name := range m.Services {
		perVisit := m.DemandMs[i] / max(visits[i], 1e-3)
		n := max(1, int(math.Round(replicas[i])))
		app.Services = append(app.Services, server(name, loadline.Dist{Mean: milliseconds(perVisit), CV: 0.5}, 0, n, size))
	}
	for _, k := range hotelKinds {
		var stages [][]loadline.Call
		for _, stage := range k.stages {
			var calls []loadline.Call
			for _, name := range stage {
				calls = append(calls, visit(1+slices.Index(m.Services, name)))
			}
			stages = append(stages, calls)
		}
		front := visit(1+slices.Index(m.Services, "frontend"), stages...)
		app.Kinds = append(app.Kinds, loadline.Kind{Name: k.name, Share: k.share, Root: visit(0, []loadline.Call{front})})
	}
	return app
}

// simulate one window of the fitted call graph.
func (m *HotelModel) simulate(replicas []float64, seed uint64) (meanMs, throughput float64) {
	rates := make([]float64, len(hotelKinds))
	for i, k := range hotelKinds {
		rates[i] = k.share * hotelOffered
	}
	meter := simulate(sim.Config{
		App: m.app(replicas), Seed: seed, WarmUp: time.Duration(hotelCalibration * 1e9),
		Load: constant{rates: rates, ends: sim.Never},
	}, time.Duration(hotelSeconds*1e9))
	sum, count, completed := 0.0, 0.0, 0.0
	for i := range meter.Kinds {
		sum += meter.Kinds[i].Latency.Sum()
		count += meter.Kinds[i].Latency.Count()
		completed += meter.Kinds[i].Completed
	}
	return sum / count / 1e6, completed / hotelSeconds
}
