package knative

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// revision is a PodAutoscaler whose Active has had a status for some time; initialised says whether it
// ever had its pods.
func revision(active string, since time.Duration, initialised bool, annotations ...string) *PodAutoscaler {
	pa := &PodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hello-00001", Generation: 3, Annotations: map[string]string{}}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		pa.Annotations[annotation+key] = value
	}
	done := isUnknown
	if initialised {
		done = isTrue
	}
	if active != "" {
		pa.Status.Conditions = []Condition{
			{Type: conditionActive, Status: active, LastTransitionTime: ago(since)},
			{Type: conditionReady, Status: active, LastTransitionTime: ago(since)},
			{Type: conditionSKSReady, Status: isTrue, LastTransitionTime: ago(since)},
			{Type: conditionInitialized, Status: done, LastTransitionTime: ago(since)},
		}
	}
	return pa
}

// sks in a mode, ready, and backed by activators for some time.
func sks(mode string, proxied time.Duration) *ServerlessService {
	s := &ServerlessService{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: ServerlessServiceSpec{Mode: mode},
		Status: ServerlessServiceStatus{ObservedGeneration: 2, ServiceName: "hello-00001", PrivateServiceName: "hello-00001-private",
			Conditions: []Condition{{Type: conditionReady, Status: isTrue}}}}
	if proxied > 0 {
		s.Status.Conditions = append(s.Status.Conditions, Condition{Type: "ActivatorEndpointsPopulated", Status: isTrue,
			LastTransitionTime: ago(proxied)})
	}
	return s
}

func wants(n int32, load float64) loadline.Opt[Wanted] {
	return loadline.Some(Wanted{Replicas: n, Load: loadline.Some(load)})
}

// told is an outcome in one line.
func told(o Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d;", o.Mode, o.Activators)
	if o.Replicas.Set {
		fmt.Fprintf(&b, " scale to %d;", o.Replicas.Value)
	}
	for _, kind := range []string{conditionActive, conditionInitialized, conditionSKSReady, conditionReady} {
		c := find(o.Status.Conditions, kind)
		fmt.Fprintf(&b, " %s=%s", kind, c.Status)
		if c.Reason != "" {
			fmt.Fprintf(&b, "/%s", c.Reason)
		}
	}
	fmt.Fprintf(&b, "; %d of %d", *o.Status.ActualScale, *o.Status.DesiredScale)
	if o.After > 0 {
		fmt.Fprintf(&b, "; again in %v", o.After)
	}
	return b.String()
}

func TestDecide(t *testing.T) {
	nothing := loadline.Opt[Wanted]{}
	for _, row := range []struct {
		name            string
		pa              *PodAutoscaler
		sks             *ServerlessService
		ready, replicas int32
		wanted          loadline.Opt[Wanted]
		want            string
	}{
		{"a new revision gets a ServerlessService in mode Proxy", revision("", 0, false), nil, 0, 1, nothing,
			"Proxy 2; Active=Unknown/Queued ScaleTargetInitialized=Unknown SKSReady=Unknown/NotReady Ready=Unknown/Queued; 0 of -1"},
		{"the first pod starts: requests wait for it", revision("", 0, false), sks(Proxy, 0), 0, 1, nothing,
			"Proxy 3; Active=Unknown/Queued ScaleTargetInitialized=Unknown SKSReady=True Ready=Unknown/Queued; 0 of -1; again in 10m11s"},
		{"the first pod is ready, though nothing is measured yet", revision(isUnknown, time.Second, false), sks(Proxy, time.Second), 1, 1, nothing,
			"Proxy 4; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 1 of -1; again in 10m10s"},
		{"an initial scale of three is waited for", revision(isUnknown, time.Second, false, "initial-scale=3"), sks(Proxy, time.Second), 2, 1,
			wants(0, 0),
			"Proxy 5; scale to 3; Active=Unknown/Queued ScaleTargetInitialized=Unknown SKSReady=True Ready=Unknown/Queued; 2 of 3"},
		{"an initial scale that was reached once does not matter any more", revision(isTrue, time.Minute, true, "initial-scale=3"),
			sks(Proxy, time.Hour), 3, 3, wants(2, 1),
			"Serve 6; scale to 2; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 3 of 2"},
		{"capacity for a burst takes the activators out of the way", revision(isTrue, time.Minute, true), sks(Proxy, time.Hour), 6, 6,
			wants(6, 300),
			"Serve 9; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 6 of 6"},
		{"without that capacity they stay", revision(isTrue, time.Minute, true), sks(Serve, 0), 6, 6, wants(6, 400),
			"Proxy 9; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 6 of 6"},
		{"a burst capacity of 0 serves directly", revision(isTrue, time.Minute, true, "target-burst-capacity=0"), sks(Serve, 0), 1, 1,
			wants(1, 99),
			"Serve 2; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 1 of 1"},
		{"an unlimited one never does", revision(isTrue, time.Minute, true, "target-burst-capacity=-1"), sks(Proxy, time.Hour), 9, 9,
			wants(9, 1),
			"Proxy 9; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 9 of 9"},
		{"the bounds hold", revision(isTrue, time.Minute, true, "min-scale=2", "max-scale=4"), sks(Proxy, time.Hour), 4, 4, wants(9, 900),
			"Proxy 7; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 4 of 4"},
		{"below the lower bound it is not active", revision(isTrue, time.Minute, true, "min-scale=2"), sks(Proxy, time.Hour), 1, 1, wants(0, 0),
			"Proxy 4; scale to 2; Active=Unknown/Queued ScaleTargetInitialized=True SKSReady=True Ready=Unknown/Queued; 1 of 2"},
		{"what is woken starts with its activation scale", revision(isFalse, time.Hour, true, "activation-scale=3"), sks(Proxy, time.Hour), 0, 0,
			wants(1, 1),
			"Proxy 3; scale to 3; Active=Unknown/Queued ScaleTargetInitialized=True SKSReady=True Ready=Unknown/Queued; 0 of 3"},
		{"idle, but active for less than a window: one pod stays", revision(isTrue, 10*time.Second, true), sks(Serve, 0), 3, 3, wants(0, 0),
			"Serve 6; scale to 1; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 3 of 1; again in 50s"},
		{"idle for a window: activators take over first", revision(isTrue, time.Minute, true), sks(Serve, 0), 1, 1, wants(0, 0),
			"Proxy 4; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 1 of 0; again in 1s"},
		{"they have taken over, but not for the grace period", revision(isFalse, 10*time.Second, true), sks(Proxy, 9*time.Second), 1, 1,
			wants(0, 0),
			"Proxy 4; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 1 of 0; again in 21s"},
		{"the ServerlessService is not in mode Proxy yet", revision(isFalse, time.Hour, true), sks(Serve, time.Hour), 1, 1, wants(0, 0),
			"Proxy 4; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 1 of 0; again in 1s"},
		{"the last pod is retained for longer than the grace period", revision(isFalse, time.Minute, true,
			"scale-to-zero-pod-retention-period=2m"), sks(Proxy, time.Hour), 1, 1, wants(0, 0),
			"Proxy 4; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 1 of 0; again in 1m0s"},
		{"after the grace period the last pod goes", revision(isFalse, 31*time.Second, true), sks(Proxy, 30*time.Second), 1, 1, wants(0, 0),
			"Proxy 4; scale to 0; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 1 of 0"},
		{"at zero nothing is left to do", revision(isFalse, time.Hour, true), sks(Proxy, time.Hour), 0, 0, wants(0, 0),
			"Proxy 3; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 0 of 0"},
		{"without data nothing changes", known(revision(isTrue, time.Hour, true), 5), sks(Serve, 0), 5, 5, nothing,
			"Serve 8; Active=True ScaleTargetInitialized=True SKSReady=True Ready=True; 5 of 5"},
		{"nor at zero", known(revision(isFalse, time.Hour, true), 0), sks(Proxy, time.Hour), 0, 0, nothing,
			"Proxy 3; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 0 of 0"},
		{"what does not start within its deadline is given up", revision(isUnknown, 11*time.Minute, false), sks(Proxy, time.Hour), 0, 1, nothing,
			"Proxy 3; scale to 0; Active=False/TimedOut ScaleTargetInitialized=Unknown SKSReady=True Ready=False/TimedOut; 0 of 0"},
		{"a revision that no route leads to has no lower bound", unreached(revision(isFalse, time.Minute, true, "min-scale=3")),
			sks(Proxy, time.Hour), 3, 3, wants(0, 0),
			"Proxy 6; scale to 0; Active=False/NoTraffic ScaleTargetInitialized=True SKSReady=True Ready=False/NoTraffic; 3 of 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			settings, err := SettingsOf(row.pa, DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			o := Decide(Seen{Now: noon, PA: row.pa, SKS: row.sks, Ready: row.ready, Replicas: row.replicas, Wanted: row.wanted, Settings: settings})
			if got := told(o); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if o.Status.ObservedGeneration != 3 {
				t.Errorf("observed generation %d", o.Status.ObservedGeneration)
			}
		})
	}
}

func known(pa *PodAutoscaler, desired int32) *PodAutoscaler {
	pa.Status.DesiredScale = &desired
	return pa
}

func unreached(pa *PodAutoscaler) *PodAutoscaler {
	pa.Spec.Reachability = unreachable
	return pa
}

// TestDecideNeverZero: when the cluster does not allow zero, the last pod stays for good.
func TestDecideNeverZero(t *testing.T) {
	config := DefaultConfig()
	config.ScaleToZero = false
	pa := revision(isTrue, time.Hour, true)
	settings, err := SettingsOf(pa, config)
	if err != nil {
		t.Fatal(err)
	}
	o := Decide(Seen{Now: noon, PA: pa, SKS: sks(Proxy, time.Hour), Ready: 2, Replicas: 2, Wanted: wants(0, 0), Settings: settings})
	if o.Replicas != loadline.Some(int32(1)) || find(o.Status.Conditions, conditionActive).Status != isTrue {
		t.Error(told(o))
	}
}

// TestDecideNotOwned: a ServerlessService of something else is left alone, and the status says so.
func TestDecideNotOwned(t *testing.T) {
	pa := revision(isTrue, time.Hour, true)
	o := Decide(Seen{Now: noon, PA: pa, NotOwned: "hello-00001", Wanted: wants(3, 1)})
	active := find(o.Status.Conditions, conditionActive)
	if o.Replicas.Set || active.Status != isFalse || active.Reason != "NotOwned" {
		t.Errorf("%+v", o)
	}
}

// TestConditions: the time of a condition changes with the condition only, and Ready has the reason of
// the one that keeps it from being true.
func TestConditions(t *testing.T) {
	c := newConditions(revision(isTrue, time.Hour, true).Status.Conditions, noon)
	c.mark(conditionActive, isTrue, "", "")
	if !find(c.list, conditionActive).LastTransitionTime.Equal(new(ago(time.Hour))) {
		t.Error("the time changed with nothing else")
	}
	c.mark(conditionSKSReady, isUnknown, "NotReady", "wait")
	c.mark(conditionActive, isFalse, "NoTraffic", "idle")
	ready := find(c.list, conditionReady)
	if ready.Status != isFalse || ready.Reason != "NoTraffic" || !ready.LastTransitionTime.Equal(new(ago(0))) {
		t.Errorf("%+v", ready)
	}
	c.mark(conditionActive, isTrue, "", "")
	if ready := find(c.list, conditionReady); ready.Status != isUnknown || ready.Message != "wait" {
		t.Errorf("%+v", ready)
	}
	c.mark(conditionSKSReady, isTrue, "", "")
	if ready := find(c.list, conditionReady); ready.Status != isTrue || ready.Message != "" {
		t.Errorf("%+v", ready)
	}
}
