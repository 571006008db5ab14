package apps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

// These tests compare the models of Online Boutique and Train Ticket with the second day of the
// data; their figures were fitted to the first day:
//
//	go test ./internal/apps -run TestReproduces -v

// deviation is one service's figure in the model against the measured one.
type deviation struct {
	service         string
	model, measured float64
}

func (d deviation) relative() float64 { return math.Abs(d.model-d.measured) / d.measured }

// medianDeviation also logs all of them, the worst first.
func medianDeviation(t *testing.T, unit string, all []deviation) (middle float64, worst deviation) {
	t.Helper()
	slices.SortFunc(all, func(a, b deviation) int { return cmp.Compare(b.relative(), a.relative()) })
	errors := make([]float64, len(all))
	for i, d := range all {
		errors[i] = d.relative()
		t.Logf("%-30s model %8.3f %s, measured %8.3f: %4.0f %%", d.service, d.model, unit, d.measured, 100*d.relative())
	}
	return median(errors), all[0]
}

// reproduction is one application with its data and the tolerances of the tests.
type reproduction struct {
	app        string
	data       measurement
	front      string              // its rate defines the load, in the model and in the data
	name       func(string) string // of a service in the data
	unmeasured []string            // no CPU samples
	// The largest errors allowed.
	medianCPU, worstCPU        float64
	fittedVisits, unseenVisits float64 // medians, by day
}

func reproductions(t *testing.T) []reproduction {
	return []reproduction{
		{
			app: "boutique", data: nezha(t, "onlineboutique", 10), front: "frontend",
			name:       func(s string) string { return s },
			unmeasured: []string{"redis-cart"},
			medianCPU:  0.15, worstCPU: 0.25, fittedVisits: 0.02, unseenVisits: 0.02,
		},
		{
			app: "trainticket", data: nezha(t, "trainticket", 1), front: "gateway-service",
			name:       func(s string) string { return strings.TrimPrefix(s, "ts-") },
			unmeasured: []string{"ts-security-service"},
			// On the second day the pods run on other nodes, and their users search and buy a
			// quarter less per request: the train service takes 2.1m instead of 5.1m.
			medianCPU: 0.12, worstCPU: 1.5, fittedVisits: 0.05, unseenVisits: 0.35,
		},
	}
}

func TestReproducesTheMeasuredCPUOfPods(t *testing.T) {
	for _, r := range reproductions(t) {
		t.Run(r.app, func(t *testing.T) {
			m, err := Load(r.app)
			if err != nil {
				t.Fatal(err)
			}
			cpu := cpuPerFrontVisit(t, m.App, r)
			rate := meanRate(r.data.second[r.front])
			var all, yesterday []deviation
			for i, s := range m.App.Services {
				if slices.Contains(r.unmeasured, s.Name) {
					continue
				}
				measured := calm(r.data.second[r.name(s.Name)])
				all = append(all, deviation{s.Name, 1000 * (s.IdleCPU + rate*cpu[i]), measured})
				yesterday = append(yesterday, deviation{s.Name, calm(r.data.first[r.name(s.Name)]), measured})
			}
			// No model of the first day can be much better than the first day itself.
			t.Log("the first day's CPU as a forecast of the second's:")
			floor, _ := medianDeviation(t, "m", yesterday)
			t.Log("the model:")
			middle, worst := medianDeviation(t, "m", all)
			t.Logf("%s: the first day's CPU misses the second's by %.1f %% in the median", r.app, 100*floor)
			t.Logf("%s: CPU of a pod at %.2f/s on the unseen day: median error %.1f %%, worst %.0f %% (%s)", r.app, rate, 100*middle,
				100*worst.relative(), worst.service)
			if middle > r.medianCPU {
				t.Errorf("median error of the CPU is %.1f %%, above %.0f %%", 100*middle, 100*r.medianCPU)
			}
			if worst.relative() > r.worstCPU {
				t.Errorf("the error of %s is %.0f %%, above %.0f %%", worst.service, 100*worst.relative(), 100*r.worstCPU)
			}
		})
	}
}

// cpuPerFrontVisit gives the CPU seconds of every service per visit of the
// front service.
func cpuPerFrontVisit(t *testing.T, app *loadline.App, r reproduction) []float64 {
	t.Helper()
	front := slices.IndexFunc(app.Services, func(s loadline.Service) bool { return r.name(s.Name) == r.front })
	if front < 0 {
		t.Fatalf("%s has no service %s", app.Name, r.front)
	}
	cpu, visits := Mix(app, CPUSeconds(app)), Mix(app, Visits(app))
	for i := range cpu {
		cpu[i] /= visits[front]
	}
	return cpu
}

func TestReproducesTheMeasuredVisits(t *testing.T) {
	for _, r := range reproductions(t) {
		t.Run(r.app, func(t *testing.T) {
			m, err := Load(r.app)
			if err != nil {
				t.Fatal(err)
			}
			visits := Mix(m.App, Visits(m.App))
			front := slices.IndexFunc(m.App.Services, func(s loadline.Service) bool { return r.name(s.Name) == r.front })
			for _, day := range []struct {
				name    string
				data    map[string][]minute
				granted float64
			}{{"fitted", r.data.first, r.fittedVisits}, {"unseen", r.data.second, r.unseenVisits}} {
				data := day.data
				var all []deviation
				for i, s := range m.App.Services {
					rate := meanRate(data[r.name(s.Name)])
					if rate > 0 && r.name(s.Name) != r.front {
						all = append(all, deviation{s.Name, visits[i] / visits[front], rate / meanRate(data[r.front])})
					}
				}
				middle, worst := medianDeviation(t, "visits per front visit", all)
				t.Logf("%s, %s day: median error of the visits %.1f %%, worst %.0f %% (%s)", r.app, day.name, 100*middle,
					100*worst.relative(), worst.service)
				if middle > day.granted {
					t.Errorf("%s day: median error of the visits is %.1f %%, above %.0f %%", day.name, 100*middle, 100*day.granted)
				}
			}
		})
	}
}

// Another team's Online Boutique, with another mix (twice the checkouts): what does not depend
// on checkouts must still agree.
func TestReproducesTheVisitsOfAnotherDeployment(t *testing.T) {
	columns, rows := readCSV(t, sharedData(t, "pbscaler_ob_rps", "wiki_rps_per_service_1s.csv.gz"))
	total := map[string]float64{}
	for _, row := range rows {
		for name, i := range columns {
			var x float64
			if _, err := fmt.Sscan(row[i], &x); err == nil {
				total[name] += x
			}
		}
	}
	m, err := Load("boutique")
	if err != nil {
		t.Fatal(err)
	}
	visits := Mix(m.App, Visits(m.App))
	front := m.App.ServiceIndex("frontend")
	var all []deviation
	for _, name := range []string{"adservice", "cartservice", "currencyservice", "productcatalogservice", "recommendationservice",
		"shippingservice"} {
		all = append(all, deviation{name, visits[m.App.ServiceIndex(name)] / visits[front], total[name] / total["frontend"]})
	}
	middle, worst := medianDeviation(t, "visits per front visit", all)
	t.Logf("median error %.1f %%, worst %.0f %% (%s)", 100*middle, 100*worst.relative(), worst.service)
	if middle > 0.05 || worst.relative() > 0.15 {
		t.Errorf("median error %.1f %% above 5 %%, or worst %.0f %% (%s) above 15 %%", 100*middle, 100*worst.relative(), worst.service)
	}
}
