package prom

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// presentQueries are those that only a controller asks, by name.
func presentQueries(p *Preset) map[string]*Query {
	list := map[string]*Query{
		"buckets": p.Buckets, "failed_buckets": p.FailedBuckets, "user_buckets": p.UserBuckets, "failed_user_buckets": p.FailedUserBuckets,
		"rate": p.Service[history.Rate], "cpu": p.Service[history.CPU], "call_rate": p.Calls[history.CallRate],
	}
	for m, q := range p.Pods {
		list["pod_"+loadline.PodMetric(m).String()] = q
	}
	for name, q := range list {
		if q == nil || q.Text == "" {
			delete(list, name)
		}
	}
	return list
}

// TestPresentOfEmbeddedPresets: Prometheus' own parser takes every query about now,
// and what tells its age; every preset of traffic has buckets and knows ages.
func TestPresentOfEmbeddedPresets(t *testing.T) {
	var b strings.Builder
	b.WriteString("groups:\n- name: presets\n  rules:\n")
	for _, name := range Presets() {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		list := presentQueries(p)
		for what, q := range list {
			text, forAll := p.NewestText(q, setting())
			if forAll {
				t.Errorf("%s: %s does not say how its age is found", name, what)
			}
			if variable.MatchString(text) || variable.MatchString(p.Expand(q.Text, setting())) {
				t.Errorf("%s: %s keeps a variable: %s", name, what, text)
			}
			rule := strings.ReplaceAll(name, "-", "_") + ":" + what
			fmt.Fprintf(&b, "  - {record: %q, expr: %q}\n  - {record: %q, expr: %q}\n", rule, p.Expand(q.Text, setting()),
				rule+":newest", text)
		}
		if name != "cadvisor-ksm" && list["buckets"] == nil || list["pod_cpu"] == nil || list["pod_memory"] == nil ||
			list["pod_restarts"] == nil {
			t.Errorf("%s has only %v", name, list)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install --no-install-recommends prometheus")
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNewestText(t *testing.T) {
	p := &Preset{Probe: `up{namespace="$namespace"}`}
	s := setting() // scraped every 30 s
	text, forAll := p.NewestText(&Query{Newest: "max by (a) (timestamp(x))\n"}, s)
	if want := "(max by (a) (timestamp(x))) or max_over_time((max by (a) (timestamp(x)))[2m:30s])"; text != want || forAll {
		t.Errorf("%s (%v), want %s", text, forAll, want)
	}
	s.Step = time.Hour
	text, forAll = p.NewestText(&Query{}, s)
	const probe = `max(timestamp(up{namespace="shop"}))`
	if want := "(" + probe + ") or max_over_time((" + probe + ")[1h:1m52s])"; text != want || !forAll {
		t.Errorf("%s (%v), want %s", text, forAll, want)
	}
	if got := (&Query{Text: "rate(x[$window])"}).Oldest(s); got != time.Hour {
		t.Errorf("a rate is at most %v old", got)
	}
	if got := (&Query{Text: "x"}).Oldest(s); got != 5*time.Minute {
		t.Errorf("a gauge is at most %v old", got)
	}
}

// TestOwnQuantilesAreKept: whoever builds on a preset with quantiles of their own
// does not get the preset's buckets instead.
func TestOwnQuantilesAreKept(t *testing.T) {
	const own = "version: 1\nname: mine\nprobe: up\nwith: istio\nservice:\n  label: app\n  metrics:\n    "
	for text, buckets := range map[string]bool{own + "rate: up": true, own + "latency_p99: up": false} {
		p, err := Parse("mine.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if (p.Buckets != nil) != buckets || p.UserBuckets == nil || p.Pods[loadline.PodBusy] == nil || p.Pods[loadline.PodCPU] == nil {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

func TestFaultsOfQueriesAboutNow(t *testing.T) {
	const head = "version: 1\nname: mine\nprobe: up\nservice:\n  label: a\n  metrics: {rate: up}\n"
	for name, row := range map[string]struct{ text, want string }{
		"an age that is none": {head + "  newest: max by (a) (up)\n",
			"service.newest is \"max by (a) (up)\"; must be PromQL for an instant"},
		"an age that does not end": {head + "  newest: max by (a) (timestamp(up)\n", "is never closed"},
		"buckets of a variable":    {head + "  buckets: up{$nothing}\n", `service.buckets uses the variable "$nothing"`},
		"an age of a variable": {head + "pods:\n  label: pod\n  metrics: {cpu: {query: up, newest: 'timestamp(up{$nothing})'}}\n",
			`pods.metrics.cpu.newest uses the variable "$nothing"`},
		"an unknown metric of pods": {head + "pods:\n  label: pod\n  metrics: {cpus: up}\n", `did you mean "cpu"`},
		"a pod without a name":      {head + "pods:\n  metrics: {cpu: up}\n", "the label that names the pod"},
		"an unknown field":          {head + "pods:\n  labels: pod\n  metrics: {cpu: up}\n", `did you mean "label"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("mine.yaml", []byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
}

// TestScrapesNow counts in windows of 10 s, 30 s, 1 min, 2 min, 5 min, 10 min and
// 20 min.
func TestScrapesNow(t *testing.T) {
	for name, row := range map[string]struct {
		counts []int
		want   time.Duration
		sure   bool
	}{
		"nothing":                        {nil, 0, false},
		"a single scrape":                {[]int{1, 1, 1, 1, 1, 1, 1}, 0, false},
		"every second":                   {[]int{10, 30, 60, 120, 300, 600, 1200}, time.Second, true},
		"every 5 s":                      {[]int{2, 6, 12, 24, 60, 120, 240}, 5 * time.Second, true},
		"every 15 s":                     {[]int{1, 2, 4, 8, 20, 40, 80}, 15 * time.Second, true},
		"every 15 s, both ends":          {[]int{1, 3, 5, 9, 21, 41, 81}, 15 * time.Second, true},
		"every 30 s":                     {[]int{1, 1, 2, 4, 10, 20, 40}, 30 * time.Second, true},
		"every minute":                   {[]int{0, 1, 1, 2, 5, 10, 20}, time.Minute, true},
		"every five minutes":             {[]int{0, 0, 0, 1, 1, 2, 4}, 5 * time.Minute, false},
		"every second for 5 s":           {[]int{5, 5, 5, 5, 5, 5, 5}, 2 * time.Second, false},
		"every second for 12 s":          {[]int{10, 12, 12, 12, 12, 12, 12}, time.Second, true},
		"every 15 s for 3 min":           {[]int{1, 2, 4, 8, 12, 12, 12}, 15 * time.Second, true},
		"every 15 s, and some were lost": {[]int{0, 1, 3, 7, 18, 38, 77}, 15 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			var rows []string
			for i, n := range row.counts {
				rows = append(rows, fmt.Sprintf(`{"metric":{"over":"%d"},"value":[1000,"%d"]}`, i, n))
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(rows, ","))
			}))
			defer s.Close()
			got, sure, err := client(t, Server{URL: s.URL}).ScrapesNow(context.Background(), &Preset{Probe: "up"}, setting(),
				time.Unix(1000, 0))
			if err != nil || got != row.want || sure != row.sure {
				t.Errorf("%v (%v, %v), want %v (%v)", got, sure, err, row.want, row.sure)
			}
		})
	}
}
