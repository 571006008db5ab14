package scenarios

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// dashboard is the part of Grafana's format that has queries.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any // a text for a data source, else an object
		}
	}
	Panels []struct {
		ID          int
		Title, Type string
		Description string
		GridPos     struct{ X, Y, W, H int }
		Datasource  struct{ Type, UID string }
		Targets     []struct{ RefID, Expr string }
	}
}

type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func dashboards(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob("../../../deploy/grafana/*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	var all []dashboard
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

// rulesFile is the groups of the PrometheusRule, as Prometheus reads them.
func rulesFile(t *testing.T) (path string, rules []alert) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/optional/prometheus-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Spec struct {
			Groups []struct {
				Name  string
				Rules []alert
			}
		}
	}
	if err := yaml.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	var raw struct{ Spec any }
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(raw.Spec)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, out, 0o666); err != nil {
		t.Fatal(err)
	}
	return path, o.Spec.Groups[0].Rules
}

// later are metrics that this scenario has no occasion for: they need an evaluated candidate
// beside the twin, a fleet, or a full disk.
var later = regexp.MustCompile(`loadline_estimated_cost_per_month|loadline_fleet_in_reach|loadline_record_faults_total`)

// TestDashboardsHaveData: the query of each panel, each variable and each alert is understood by a real
// Prometheus that scrapes the real product, and has series.
func TestDashboardsHaveData(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	p := s.run(t, cluster.ProductOptions{})
	s.prom.SetJobs(t, append(s.player.Jobs(), cluster.Job{Name: "loadline", Address: p.Metrics}))
	twin, err := os.ReadFile("../../../internal/apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.c.ApplyYAML(t, s.ns, mayRead)
	s.twin(t, string(twin))
	s.loadLine(t, v1alpha1.Act, "  twin: {name: twin, key: twin.yaml}\n  drift: {window: 20s}\n")
	s.waitReplicas(t, s.app.Services[0].Name, 3, 12)
	s.player.SetRate(20) // guards slow the reduction down
	s.prom.Stop()
	s.waitCondition(t, "Fallback=True")
	s.prom.Start(t)
	s.waitCondition(t, "Fallback=False", "Drift=False/AsJudged")
	fill := strings.NewReplacer("$__rate_interval", "5m", "$namespace", s.ns, "$loadline", "shop")
	check := func(what, expr string) {
		expr = fill.Replace(expr)
		if strings.Contains(expr, "$") {
			t.Errorf("%s: an unknown variable is in %s", what, expr)
			return
		}
		cluster.Eventually(t, what+": "+expr, func() error {
			n, err := s.seriesOf(expr)
			if err == nil && n == 0 && !later.MatchString(expr) {
				err = fmt.Errorf("no series")
			}
			return err
		})
	}
	panels := 0
	for _, d := range dashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				check(d.Title+", "+panel.Title, target.Expr)
				panels++
			}
		}
		for _, v := range d.Templating.List {
			query, _ := v.Query.(map[string]any)
			if m := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(fmt.Sprint(query["query"])); m != nil {
				check("variable "+v.Name, m[1])
			} else if v.Type != "datasource" {
				t.Errorf("variable %s of %s is %v", v.Name, d.Title, v.Query)
			}
		}
	}
	_, rules := rulesFile(t)
	condition := regexp.MustCompile(` (==|>) [0-9.]+$`)
	for _, r := range rules {
		if !condition.MatchString(r.Expr) {
			t.Errorf("%s: %s has no condition", r.Alert, r.Expr)
		}
		check(r.Alert, condition.ReplaceAllString(r.Expr, ""))
	}
	if panels < 25 || len(rules) < 8 {
		t.Errorf("only %d queries of panels and %d alerts were checked", panels, len(rules))
	}
}

// seriesOf a query, at present.
func (s *fixture) seriesOf(expr string) (int, error) {
	answer, err := http.Get(s.prom.URL + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Status != "success" {
		return 0, fmt.Errorf("%s: %s %v", answer.Status, said.Error, err)
	}
	return len(said.Data.Result), nil
}

// TestDashboardsAreWellFormed: identifiers are unique, and panels do not overlap.
func TestDashboardsAreWellFormed(t *testing.T) {
	var uids []string
	for _, d := range dashboards(t) {
		if slices.Contains(uids, d.UID) || d.UID == "" || d.SchemaVersion < 36 {
			t.Errorf("%s has the identifier %q and version %d", d.Title, d.UID, d.SchemaVersion)
		}
		uids = append(uids, d.UID)
		taken := map[[2]int]string{}
		for i, panel := range d.Panels {
			if panel.ID != i+1 || panel.Description == "" || panel.Datasource.UID != "${datasource}" || len(panel.Targets) == 0 {
				t.Errorf("%s: panel %d %q: %+v", d.Title, panel.ID, panel.Title, panel)
			}
			g := panel.GridPos
			if g.X < 0 || g.X+g.W > 24 || g.H < 1 {
				t.Errorf("%s: %s is at %+v", d.Title, panel.Title, g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %s lies on %s", d.Title, panel.Title, other)
					}
					taken[[2]int{x, y}] = panel.Title
				}
			}
		}
	}
}

// TestAlertsFire: Prometheus' own test of rules, with series in which each alert must fire, and
// only for the application that has the trouble.
func TestAlertsFire(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: apt-get install --no-install-recommends prometheus")
	}
	path, rules := rulesFile(t)
	series := map[string]string{ // of an application with trouble
		"LoadlineSilent":          `loadline_last_decision_timestamp_seconds{%s}|0x60`,
		"LoadlineBlind":           `loadline_rung{%s,rung="hold"}|1x60`,
		"LoadlineObjectiveMissed": `loadline_objective_met{%s,kind="page"}|0x60`,
		"LoadlineFallback":        `loadline_rung{%s,rung="rule"}|1x60`,
		"LoadlineUnsteady":        `loadline_rung_changes_total{%s,rung="rule"}|0+1x60`,
		"LoadlineDrift":           `loadline_drift{%s,measure="cpu"}|1x60`,
		"LoadlineNotRecorded":     `loadline_record_faults_total{%s}|0+1x60`,
		"LoadlineFleetAway":       `loadline_fleet_in_reach{%s}|0x60`,
	}
	healthy := map[string]string{
		"LoadlineSilent": `loadline_last_decision_timestamp_seconds{%s}|0+60x60`, "LoadlineBlind": `loadline_rung{%s,rung="hold"}|0x60`,
		"LoadlineObjectiveMissed": `loadline_objective_met{%s,kind="page"}|1x60`, "LoadlineFallback": `loadline_rung{%s,rung="rule"}|0x60`,
		"LoadlineUnsteady": `loadline_rung_changes_total{%s,rung="rule"}|1x60`, "LoadlineDrift": `loadline_drift{%s,measure="cpu"}|0x60`,
		"LoadlineNotRecorded": `loadline_record_faults_total{%s}|3x60`, "LoadlineFleetAway": `loadline_fleet_in_reach{%s}|1x60`,
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 1m\ntests:\n", path)
	for _, r := range rules {
		if series[r.Alert] == "" {
			t.Errorf("%s has no test", r.Alert)
			continue
		}
		fmt.Fprintf(&b, "- interval: 1m\n  name: %s\n  input_series:\n", r.Alert)
		labels := `namespace="shop",loadline="bad"`
		for app, from := range map[string]map[string]string{"bad": series, "good": healthy} {
			name, values, _ := strings.Cut(from[r.Alert], "|")
			fmt.Fprintf(&b, "  - {series: %q, values: %q}\n", fmt.Sprintf(name, `namespace="shop",loadline="`+app+`"`), values)
		}
		name, _, _ := strings.Cut(series[r.Alert], "|")
		expected := map[string]string{"namespace": "shop", "loadline": "bad", "severity": r.Labels["severity"]}
		for _, m := range regexp.MustCompile(`(kind|measure)="(\w+)"`).FindAllStringSubmatch(fmt.Sprintf(name, labels), -1) {
			expected[m[1]] = m[2]
		}
		text, err := json.Marshal(expected)
		if err != nil {
			t.Fatal(err)
		}
		// Prometheus expands the templates; what must be said is checked by hand here.
		fmt.Fprintf(&b, "  promql_expr_test:\n  - {expr: %q, eval_time: 50m, exp_samples: [{labels: %q, value: 1}]}\n",
			fmt.Sprintf("ALERTS{alertname=%q}", r.Alert), alertSeries(r.Alert, text))
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s says nothing", r.Alert)
		}
	}
	test := filepath.Join(filepath.Dir(path), "test.yaml")
	if err := os.WriteFile(test, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
	if out, err := exec.Command("promtool", "test", "rules", test).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s\n%s", err, out, b.String())
	}
}

// alertSeries is the series of a firing alert.
func alertSeries(name string, labels []byte) string {
	var of map[string]string
	if json.Unmarshal(labels, &of) != nil {
		return ""
	}
	of["alertname"], of["alertstate"] = name, "firing"
	var parts []string
	for key, value := range of {
		parts = append(parts, fmt.Sprintf("%s=%q", key, value))
	}
	slices.Sort(parts)
	return "ALERTS{" + strings.Join(parts, ",") + "}"
}
