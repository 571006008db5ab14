package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

func twoServices() *loadline.App {
	of := func(name string) loadline.Service {
		return loadline.Service{Name: name, Size: loadline.Size{CPURequest: 0.5, MemoryRequest: 256 << 20},
			Bounds: loadline.Bounds{MinReplicas: 2, MaxReplicas: 9}}
	}
	return &loadline.App{Name: "shop", Services: []loadline.Service{of("web"), of("cart")}}
}

func TestAutoscalersBecomeAPolicyAndBack(t *testing.T) {
	app := twoServices()
	for _, spec := range []string{
		"hpa:target=60", "hpa:target=60,cart=75", "hpa:target=60,cart=off", "hpa:target=60,memory-target=80",
		"keda:web=20,cart=35.5", "keda:web=20,cart=35.5,target=70", "hpa:target=off,memory-target=80",
	} {
		all, err := AutoscalersOf(spec, app)
		if err != nil {
			t.Fatal(err)
		}
		today, err := TodayOf(app, all)
		if err != nil || today.Spec != spec {
			t.Errorf("%s became %q: %v", spec, today.Spec, err)
		}
	}
}

func TestAutoscalersThatHaveNoPolicy(t *testing.T) {
	app := twoServices()
	of := func(name string, targets ...history.AutoscalerTarget) history.Autoscaler {
		return history.Autoscaler{Name: name, Service: strings.TrimPrefix(name, kedaPrefix), MinReplicas: 1, MaxReplicas: 4,
			Targets: targets}
	}
	cpu := history.AutoscalerTarget{Metric: "cpu", Type: history.Utilization, Value: 60}
	queue := history.AutoscalerTarget{Metric: "queue_length", Type: history.TotalValue, Value: 30}
	trigger := history.AutoscalerTarget{Metric: "s0-prometheus", Type: history.AverageValue, Value: 30}
	for want, all := range map[string][]history.Autoscaler{
		"the history shows no autoscaler":             nil,
		"web keeps metric queue_length at 30 (value)": {of("web", queue), of("cart", cpu)},
		"has no target of autoscaler web of web":      {of("web"), of("cart", cpu)},
		"which no policy here can do":                 {of("web", trigger), of("cart", cpu)},
	} {
		if today, err := TodayOf(app, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v (%q)", want, err, today.Spec)
		}
	}
	if _, err := TodayOf(app, nil); !errors.Is(err, ErrNoAutoscaler) {
		t.Error(err)
	}
	today, err := TodayOf(app, []history.Autoscaler{of("keda-hpa-web", trigger), of("cart", cpu)})
	if err != nil || today.Spec != "by-service:web=keda(threshold=30),cart=hpa(target=60)" {
		t.Errorf("%+v, %v", today, err)
	}
	cores := history.AutoscalerTarget{Metric: "cpu", Type: history.AverageValue, Value: 0.4}
	today, err = TodayOf(app, []history.Autoscaler{of("web", cores), of("cart", cores)})
	if err != nil || today.Spec != "hpa:target=80" || len(today.Notes) != 2 {
		t.Errorf("%+v, %v", today, err)
	}
}

func TestHPATargetsOfServices(t *testing.T) {
	app := twoServices()
	p, err := New("hpa:target=50,cart=90", app)
	if err != nil {
		t.Fatal(err)
	}
	if h := p.(*HPA); h.metricsOf(time.Time{}, loadline.Situation{}, 0)[0].target != 50 || h.metricsOf(time.Time{},
		loadline.Situation{}, 1)[0].target != 90 {
		t.Error("the targets are not those of the services")
	}
	if p, err = New("hpa:cart=off", app); err != nil {
		t.Fatal(err)
	}
	now := time.Time{}
	s := loadline.Situation{App: app, Window: []loadline.Observation{{Services: make([]loadline.ServiceObservation, 2)}},
		Allocation: make([]loadline.Allocation, 2), InFlight: make([]loadline.Allocation, 2)}
	s.Allocation[1].Replicas = 20 // above the bound of an autoscaler that it does not have
	proposal, err := p.Decide(now, s)
	if err != nil || slices.ContainsFunc(proposal.Services, func(sp loadline.ServiceProposal) bool {
		return sp.Service == 1 && !sp.Setting.Empty()
	}) {
		t.Errorf("%+v, %v", proposal, err)
	}
}
