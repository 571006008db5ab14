package controller

import (
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// TestOnlyAllowedServersAreAsked: a LoadLine cannot send the controller to any address.
func TestOnlyAllowedServersAreAsked(t *testing.T) {
	allow, err := prom.ParseAllowList([]string{"http://prometheus.monitoring:9090"})
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{allow: allow, spec: resource.Metering{Field: "spec.prometheus"}}
	_, err = m.open(t.Context(), prom.Server{URL: "http://metadata.internal"})
	if err == nil || !strings.Contains(err.Error(), "spec.prometheus.url: the operator of Loadline does not allow the address http://metadata") {
		t.Error(err)
	}
}
