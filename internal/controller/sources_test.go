package controller

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
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

// TestAHostileServerHoldsItsLoadLine: answers without end in one label are refused, all of them. The
// LoadLine holds, the condition says why, and the memory is free again.
func TestAHostileServerHoldsItsLoadLine(t *testing.T) {
	label := strings.Repeat("x", 64<<10)
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"pod":"`)
		for err == nil && r.Context().Err() == nil {
			_, err = io.WriteString(w, label)
		}
	}))
	defer prometheus.Close()
	s, _ := newStage(t)
	s.l.Spec.Prometheus.URL, s.l.Spec.Prometheus.Preset = prometheus.URL, "istio"
	answers := prom.NewBudget(32 << 20)
	c := New(t.Context(), Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now, Answers: answers})
	var a *application
	c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (_ *application, err error) {
		if a, err = s.open(ctx, l, latest); err == nil {
			m := &meter{named: named{c.Live, l.Namespace}, secrets: named{c.Live, l.Namespace}, app: a.Application, answers: answers,
				spec: resource.Metering{Source: l.Spec.Prometheus, Field: "spec.prometheus"}}
			a.cluster.source, a.cluster.timeout = m.at, time.Hour
		}
		return a, err
	}
	c.restorer = func(string) restorer { return s }
	found := c.Once(t.Context(), s.l)
	if len(s.acts) > 0 || a.ladder.State().Rung != guard.Hold {
		t.Errorf("on rung %v it did %v: %+v", a.ladder.State().Rung, s.acts, found)
	}
	var now v1alpha1.LoadLine
	if err := c.Client.Get(t.Context(), request(s.l).NamespacedName, &now); err != nil {
		t.Fatal(err)
	}
	is := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || is.Status != metav1.ConditionFalse || !strings.Contains(is.Message, "the answer is too large") {
		t.Errorf("Ready is %+v", is)
	}
	if answers.Free() != 32<<20 {
		t.Errorf("%d bytes are still taken", 32<<20-answers.Free())
	}
}
