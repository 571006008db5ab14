package decisionlog

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// The report on the metrics is printed as far as it concerns the service.
func TestReportedConcernsTheService(t *testing.T) {
	app := &loadline.App{
		Services: []loadline.Service{{Name: "web"}, {Name: "cart"}},
		Kinds:    []loadline.Kind{{Name: "page"}, {Name: "buy", Root: loadline.Call{Service: 1}}},
	}
	of := func(scope loadline.Scope, metric string, names ...string) loadline.Diagnosis {
		return loadline.Diagnosis{Scope: scope, Metric: metric, Names: names, State: loadline.MetricAbsent, Why: "it is not scraped"}
	}
	record := &Record{Absent: []loadline.Diagnosis{
		of(loadline.OfService, "queue"), of(loadline.OfService, "rate", "cart"),
		of(loadline.OfPod, "cpu", "web"), of(loadline.OfKind, "rate", "buy"),
	}}
	for service, want := range map[string]string{
		"web": "service queue is absent: it is not scraped; pod cpu of web is absent: it is not scraped",
		"cart": "service rate of cart is absent: it is not scraped; service queue is absent: it is not scraped; " +
			"kind rate of buy is absent: it is not scraped",
	} {
		got := strings.Join(reported(Entry{App: app, Record: record}, service), " ")
		if got != "The metrics report: "+want+"." {
			t.Errorf("%s: %s", service, got)
		}
	}
	record.Absent = []loadline.Diagnosis{{State: loadline.MetricAbsent, Why: "the server does not answer"}}
	got := reported(Entry{App: app, Record: record}, "web")
	if len(got) != 1 || got[0] != "The metrics report: every metric is absent: the server does not answer." {
		t.Errorf("a reading that failed: %q", got)
	}
}

// Figures that stand on part of the pods are said to.
func TestPartOfThePodsIsSaid(t *testing.T) {
	sc := newExample()
	pods := sc.s.Window[0].Services[0].Pods
	for i := range pods {
		pods[i].Ready = sc.d.At.Add(-time.Hour)
	}
	of := func() []string {
		r := Of(&sc.d, sc.s)
		return covered(&r.Services[0])
	}
	if got := of(); got != nil {
		t.Errorf("nothing is measured by pod, and it says %q", got)
	}
	pods[0].CPU = sample(0.1, time.Second)
	pods[2].Ready = sc.d.At
	want := "The CPU of 1 of 2 ready pods was measured (50%), and the figures are scaled to all of them; nothing is reduced while more " +
		"than one in ten is missing."
	if got := of(); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	pods[1].CPU = sample(0.1, time.Second)
	if got := of(); got != nil {
		t.Errorf("a new pod is not missing, and it says %q", got)
	}
}
