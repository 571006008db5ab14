package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console"
)

func pointer[T any](v T) *T { return &v }

var topList = []console.Application{
	{Namespace: "shop", Name: "web", Mode: "Act", Rung: &console.Rung{Name: "Primary"}, SLOMet: "True", Moved: "4/5",
		Objectives: []console.Objective{{Kind: "page", Percentile: 99, Target: 0.25, Latency: pointer(0.1234), OverSLO: pointer(0.49),
			BudgetLeft: pointer(0.873)}},
		Money: &console.Money{Currency: "USD", PerHour: pointer(0.4213)}},
	{Namespace: "shop", Name: "pay\x1b[31m", Mode: "Recommend", Rung: &console.Rung{Name: "Hold"}, SLOMet: "False",
		Attention: []string{"the SLO is missed", "MetricsAbsent: the rate of checkout is not measured, and neither is anything else that " +
			"could be used instead of it at present"}},
}

func TestTopAtAFixedWidth(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 4, 5, 0, time.UTC)
	want := strings.Join([]string{
		"2 applications, 1 need attention  12:04:05 UTC",
		"APPLICATION    MODE       RUNG      SLO       LATENCY                 BUDGET  COST/H      SERVICES",
		"shop/pay [31m  Recommend  Hold      missed    -                       -       -           -",
		"  the SLO is missed",
		"  MetricsAbsent: the rate of checkout is not measured, and neither is anything else that could be u…",
		"shop/web       Act        Primary   met       p99 123.4ms of 250ms    87 %    0.421 USD   4/5",
		"",
	}, "\n")
	if got := renderTop(topList, "", at, 100, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, width := range []int{40, 80, 200} {
		for line := range strings.Lines(renderTop(topList, "the console does not answer", at, width, false)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line has %d characters at width %d: %s", n, width, line)
			}
		}
	}
	coloured := renderTop(topList, "", at, 100, true)
	if !strings.Contains(coloured, "\x1b[31mshop/pay [31m") || strings.Contains(renderTop(topList, "", at, 100, false), "\x1b") {
		t.Errorf("colours: %q", coloured)
	}
}

func TestStatusTable(t *testing.T) {
	var b bytes.Buffer
	if err := printStatus(&b, topList[:1]); err != nil {
		t.Fatal(err)
	}
	want := "NAMESPACE  NAME  MODE  RUNG     SLO  LATENCY               BUDGET  COST/H     SAVED/MONTH  SERVICES\n" +
		"shop       web   Act   Primary  met  p99 123.4ms of 250ms  87 %    0.421 USD  -            4/5\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPromotions(t *testing.T) {
	var l v1alpha1.LoadLine
	l.Name = "web"
	l.Spec.Policy.Baseline = "hpa"
	for _, row := range []struct {
		name, policy, mode string
		version            int32
		portfolio          *v1alpha1.PortfolioStatus
		want, err          string
	}{
		{"a policy", "kpa", "", 0, nil, "the policy is now kpa", ""},
		{"a mode and a policy", "kpa", "Act", 0, nil, "the policy is now kpa, the mode is now Act", ""},
		{"nothing", "", "", 0, nil, "", "no other deployment"},
		{"a version without a model", "", "", 3, nil, "", "is no model"},
		{"the runner-up", "", "", 0, &v1alpha1.PortfolioStatus{Ahead: "tuned", Others: []v1alpha1.DeploymentEstimate{{Name: "tuned",
			Policy: "hpa:target=60"}}}, "the policy is now hpa:target=60", ""},
		{"a runner-up that is a model", "", "", 0, &v1alpha1.PortfolioStatus{Ahead: "dqn", Others: []v1alpha1.DeploymentEstimate{{Name: "dqn"}}},
			"", "is a model"},
	} {
		l.Status.Portfolio = row.portfolio
		_, what, err := promotion(&l, row.policy, row.version, row.mode)
		if what != row.want || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %q, %v", row.name, what, err)
		}
	}
}

// TestThePluginIsTheSameProgram: the name decides which commands there are.
func TestThePluginIsTheSameProgram(t *testing.T) {
	for name, want := range map[string]string{
		"/usr/bin/loadline": "loadline", "kubectl-loadline": "kubectl-loadline", `kubectl-loadline.exe`: "kubectl-loadline",
		"./bin/loadline": "loadline",
	} {
		if got := RootOf(name)().Name(); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	var out, errs bytes.Buffer
	if code := Execute(t.Context(), NewPlugin(), []string{"promote", "--mode", "act"}, nil, &out, &errs); code != exitUsage ||
		!strings.Contains(errs.String(), "Observe, Recommend or Act") {
		t.Errorf("code %d: %s", code, errs.String())
	}
}

// TestTheKrewManifest: it installs the program under the name that makes it the plugin.
func TestTheKrewManifest(t *testing.T) {
	text, err := os.ReadFile("../../deploy/krew/loadline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filled := regexp.MustCompile(`\{\{ addURIAndSha "(https://[^"]*)" .TagName }}`).ReplaceAll(text, []byte("uri: $1\n      sha256: x"))
	filled = bytes.ReplaceAll(filled, []byte("{{ .TagName }}"), []byte("v0.1.0"))
	var m struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Version          string
			ShortDescription string `yaml:"shortDescription"`
			Platforms        []struct {
				Selector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				}
				URI, SHA256 string
				Bin         string
				Files       []struct{ From, To string }
			}
		}
	}
	if err := yaml.Unmarshal(filled, &m); err != nil {
		t.Fatalf("%v in\n%s", err, filled)
	}
	if m.Kind != "Plugin" || "kubectl-"+m.Metadata.Name != pluginName || m.Spec.Version != "v0.1.0" || len(m.Spec.ShortDescription) > 50 ||
		len(m.Spec.Platforms) != 4 {
		t.Errorf("%+v", m)
	}
	for _, p := range m.Spec.Platforms {
		at := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"] + ".tar.gz"
		if p.Bin != pluginName || !strings.HasSuffix(p.URI, at) || len(p.Files) != 2 || p.Files[0].From != "loadline" || p.Files[0].To != p.Bin {
			t.Errorf("%+v", p)
		}
	}
}
