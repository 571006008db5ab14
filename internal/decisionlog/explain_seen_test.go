package decisionlog

import (
	"strings"
	"testing"

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
