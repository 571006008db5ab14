package simulate

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

func resultOf(t *testing.T, s Spec) result.Result {
	t.Helper()
	out, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out.Result
}

// A visit needs 1 ms of CPU and waits 1 s, so by Little's law there are as many at work as arrive
// in a second; each adds 2 % to the others.
func TestContentionAddsCPUForEachRequestAtWork(t *testing.T) {
	for _, engine := range Engines() {
		t.Run(engine, func(t *testing.T) {
			spec := smallSpec()
			spec.Engine, spec.Policy, spec.Load = engine, "static", steady{20, 1200}
			s := &spec.App.Services[0]
			s.CPU, s.Wait, s.Workers, s.Replicas = loadline.Dist{Mean: time.Millisecond}, loadline.Dist{Mean: time.Second}, 200, 1
			s.Contention = 0.02
			used := float64(resultOf(t, spec).UsedCoreHours) * 3600
			want := 20 * 600 * 0.001 * (1 + 0.02*20)
			if math.Abs(used/want-1) > 0.03 {
				t.Errorf("%.3f CPU-seconds, want %.3f", used, want)
			}
		})
	}
}

func TestAWrongTwinIsWrongForPoliciesOnly(t *testing.T) {
	for policy, same := range map[string]bool{"static": true, "hpa": true, "ursa": false} {
		spec := smallSpec()
		spec.Policy = policy
		right := resultOf(t, spec)
		spec.Perturb.Twin = 0.25
		wrong := resultOf(t, spec)
		if got := right.AllocatedCoreHours == wrong.AllocatedCoreHours; got != same {
			t.Errorf("%s: %v core-hours with the right model, %v with the wrong one", policy, right.AllocatedCoreHours, wrong.AllocatedCoreHours)
		}
		if policy == "static" && right.UsedCoreHours != wrong.UsedCoreHours {
			t.Error("the application itself has changed")
		}
	}
}

// A service that is too small is asked more often by clients that retry.
func TestClientsRetry(t *testing.T) {
	spec := smallSpec()
	spec.Policy, spec.Load = "static:replicas=1", steady{60, 1200}
	patient := resultOf(t, spec)
	spec.Perturb.Clients = &Clients{Patience: 2, Retries: loadline.Retries{Attempts: 2, Backoff: 10 * time.Millisecond}}
	retrying := resultOf(t, spec)
	if float64(retrying.Services[0].Requests) < 1.2*float64(patient.Services[0].Requests) {
		t.Errorf("%v visits with retries, %v without", retrying.Services[0].Requests, patient.Services[0].Requests)
	}
	if spec.App.Kinds[0].Retries.Attempts != 0 {
		t.Error("the caller's application was changed")
	}
	spec.Engine = "fluid"
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "retries") {
		t.Errorf("the fluid engine says %v", err)
	}
}

func TestNeighboursOfAPerturbationReplaceThoseOfTheCluster(t *testing.T) {
	spec := smallSpec()
	spec.Policy = "static"
	alone := resultOf(t, spec)
	spec.Perturb.Neighbours = &pool.Neighbours{Use: 1.2, Request: 0.9}
	crowded := resultOf(t, spec)
	if float64(crowded.OverSLORatio) < float64(alone.OverSLORatio)+0.01 {
		t.Errorf("%v over the SLO with neighbours, %v without", crowded.OverSLORatio, alone.OverSLORatio)
	}
	spec.Perturb.Neighbours = &pool.Neighbours{Use: -1}
	if err := spec.Validate(); err == nil {
		t.Error("neighbours that use less than nothing were accepted")
	}
}
