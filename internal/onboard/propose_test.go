package onboard

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/history"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

func readObjects(t *testing.T, name string) []advice.Object {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	objects, err := advice.ReadObjects(name, file)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// series repeats values.
func series(values ...float32) history.Series {
	s := history.NewSeries(8)
	for i := range s {
		s[i] = values[i%len(values)]
	}
	return s
}

// shopHistory: users call web and blog; web calls cart, and cart the catalogue.
func shopHistory() *history.History {
	h := &history.History{Steps: 8, Step: 5 * time.Minute}
	for name, rate := range map[string]float32{"web": 40, "cart": 12, "catalogue": 30, "blog": 3, "legacy": 1, "mailr": 2} {
		s := history.Service{Name: name}
		s.Series[loadline.ServiceRate] = series(rate, rate/2)
		s.Series[loadline.ServiceCPU] = series(1)
		s.Series[loadline.ServiceLatencyP99] = series(0.04, 0.05)
		h.Services = append(h.Services, s)
	}
	call := func(from, to string, rate, p99 float32) {
		c := history.Calls{From: from, To: to}
		c.Series[loadline.CallRate] = series(rate)
		c.Series[loadline.CallP99] = series(p99, p99, p99, p99*2, float32(math.NaN()))
		h.Calls = append(h.Calls, c)
	}
	call("", "web", 40, 0.08)
	call("web", "cart", 12, 0.02)
	call("cart", "catalogue", 30, 0.01)
	call("", "blog", 3, 0.2)
	h.Tidy()
	if m := h.Service("web"); m != nil {
		m.Series[loadline.ServiceReady] = series(3, 6)
	}
	return h
}

func shopSeen(t *testing.T) *Seen {
	t.Helper()
	workloads, err := advice.ReadWorkloads(readObjects(t, "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return &Seen{Namespace: "shop", Workloads: workloads, History: shopHistory(), Preset: "istio", Resizable: true,
		URL: "http://prometheus.monitoring:9090", Monitors: readObjects(t, "monitors.yaml")}
}

// The whole proposal of a namespace, as text and as manifests.
func TestPropose(t *testing.T) {
	p, err := Propose(shopSeen(t))
	if err != nil {
		t.Fatal(err)
	}
	var text, manifests bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := advice.Write(&manifests, p.Documents()); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"shop.txt": text.String(), "shop.out.yaml": manifests.String()} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// Workloads that a LoadLine has already are left out, and its name is not used again.
func TestProposeBesideLoadLines(t *testing.T) {
	seen := shopSeen(t)
	other := v1alpha1.LoadLine{}
	other.Name = "shop"
	for _, name := range []string{"web", "cart", "catalogue"} {
		other.Spec.Services = append(other.Spec.Services, v1alpha1.Service{Name: name, TargetRef: v1alpha1.TargetRef{Name: name}})
	}
	seen.LoadLines = []v1alpha1.LoadLine{other}
	p, err := Propose(seen)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Applications) != 1 || p.Applications[0].Name != "shop-2" || p.Applications[0].Services[0].Name != "blog" {
		t.Errorf("%+v", p.Applications)
	}
	if !strings.Contains(fmt.Sprint(p.LeftOut), "LoadLine shop has it already") {
		t.Errorf("%+v", p.LeftOut)
	}
}

// Without metrics nothing is proposed, and every workload has the reason. Missing is not zero.
func TestProposeWithoutMetrics(t *testing.T) {
	seen := shopSeen(t)
	seen.History, seen.Unseen = nil, "the server knows no namespace \"shop\""
	p, err := Propose(seen)
	if err != nil || len(p.Applications) != 0 || len(p.LeftOut) != p.Workloads {
		t.Fatalf("%+v, %v", p, err)
	}
	if !strings.HasPrefix(p.Sentence(), "Nothing can be proposed") {
		t.Error(p.Sentence())
	}
	seen = shopSeen(t)
	for i := range seen.History.Calls {
		seen.History.Calls[i].Series[loadline.CallP99] = nil
	}
	for i := range seen.History.Services {
		seen.History.Services[i].Series[loadline.ServiceLatencyP99] = nil
	}
	p, err = Propose(seen)
	if err != nil || len(p.Applications) != 0 ||
		!strings.Contains(fmt.Sprint(p.LeftOut), "response times of its application are not measured") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestRoundUp(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 5 * time.Millisecond, 5 * time.Millisecond: 5 * time.Millisecond, 80 * time.Millisecond: 100 * time.Millisecond,
		201 * time.Millisecond: 250 * time.Millisecond, time.Second + 1: 1500 * time.Millisecond, 2 * time.Hour: time.Hour,
	} {
		if got := roundUp(d); got != want {
			t.Errorf("%v is rounded to %v, want %v", d, got, want)
		}
	}
}

// Groups are the same whatever the order of calls, and labels join what no call does.
func TestGroups(t *testing.T) {
	objects := readObjects(t, "shop.yaml")
	w, err := advice.ReadWorkloads(objects)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.All {
		if name := w.All[i].Object.Name; name == "blog" || name == "db" {
			w.All[i].Object.Labels = map[string]string{partOf: "site"}
		}
	}
	calls := []history.Calls{{From: "web", To: "cart"}, {From: "cart", To: "catalogue"}, {From: "web", To: "elsewhere"}}
	backwards := []history.Calls{calls[2], calls[1], calls[0]}
	got := fmt.Sprint(groups(w.All, calls))
	if got != fmt.Sprint(groups(w.All, backwards)) {
		t.Error("the order of calls matters")
	}
	if got != "[[0 3] [1 2 8] [4] [5] [6] [7]]" { // blog db, cart catalogue web, the others alone
		t.Error(got)
	}
	if name := nameOf(w.All, []int{0, 3}, false, "shop", "blog"); name != "site" {
		t.Error(name)
	}
}
