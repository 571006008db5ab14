package prom

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/internal/history"
)

// TestEmbeddedPresets: they are sound, and say of everything that they ask for
// why it may be absent.
func TestEmbeddedPresets(t *testing.T) {
	for _, name := range Presets() {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || p.About == "" {
			t.Errorf("%s.yaml has the name %q, about %q", name, p.Name, p.About)
		}
		for _, j := range jobs(p, setting()) {
			if j.query.Absent == "" {
				t.Errorf("%s: %s %s says nothing of why it may be absent", name, j.of, j.name())
			}
			if variable.MatchString(j.text) {
				t.Errorf("%s: %s %s keeps a variable: %s", name, j.of, j.name(), j.text)
			}
		}
		if name != "cadvisor-ksm" && p.Service[history.CPU] == nil {
			t.Errorf("%s is combined with no preset for resources", name)
		}
	}
}

func setting() Setting {
	return Setting{Namespace: "shop", Step: 15 * time.Second, Scrape: 30 * time.Second}
}

// TestEmbeddedQueriesAreParsed has Prometheus' own parser look at every query.
func TestEmbeddedQueriesAreParsed(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install --no-install-recommends prometheus")
	}
	var b strings.Builder
	b.WriteString("groups:\n- name: presets\n  rules:\n")
	for _, name := range Presets() {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs(p, setting()) {
			fmt.Fprintf(&b, "  - {record: %q, expr: %q}\n", strings.ReplaceAll(name, "-", "_")+":"+j.of+":"+j.name(), j.text)
		}
		fmt.Fprintf(&b, "  - {record: %q, expr: %q}\n", strings.ReplaceAll(name, "-", "_")+":probe", p.Expand(p.Probe, setting()))
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestExpand(t *testing.T) {
	p := &Preset{Variables: map[string]string{"here": `namespace="$namespace"`, "pod": "(.+)-x"}}
	s := setting()
	s.Variables = map[string]string{"pod": "(.+)-y"}
	got := p.Expand(`label_replace(rate(m{$here}[$window] offset $step), "w", "$1", "pod", "$pod") * $step_seconds`, s)
	want := `label_replace(rate(m{namespace="shop"}[2m] offset 15s), "w", "$1", "pod", "(.+)-y") * 15`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := p.Override(map[string]string{"pot": ""}); err == nil || !strings.Contains(err.Error(), `did you mean "pod"`) {
		t.Error(err)
	}
}

func TestWorkloadOfAPod(t *testing.T) {
	p, err := Load("cadvisor-ksm")
	if err != nil {
		t.Fatal(err)
	}
	r := presetReader{}
	re := Naming{Labels: []string{"pod"}, Regexp: r.expression(&yaml.Node{Value: p.Variables["pod"]}, "")}
	for pod, want := range map[string]string{
		"productpage-v1-6b746f74dc-9rlmh": "productpage-v1",
		"web-5d9c7b8f66-zx2bq":            "web",
		"redis-0":                         "redis",
		"my-cache-12":                     "my-cache",
		"fluentd-x7kq2":                   "fluentd",
	} {
		if got := re.Of(func(string) string { return pod }); got != want {
			t.Errorf("%s: %q, want %q", pod, got, want)
		}
	}
}

func TestFaultsOfAPresetFile(t *testing.T) {
	const head = "version: 1\nname: mine\nprobe: up\n"
	for name, row := range map[string]struct{ text, want string }{
		"empty":    {"", "is empty"},
		"not YAML": {"a: [", "mine.yaml"},
		"a newer version": {"version: 2\nname: x\nprobe: up\nservice: {label: a, metrics: {rate: up}}",
			`mine.yaml:1: version is "2"; must be 1`},
		"no name":            {"version: 1\nprobe: up\nservice: {label: a, metrics: {rate: up}}", "name is absent"},
		"nothing to ask for": {head, "there is nothing to ask for"},
		"an unknown field": {head + "servise: {}\nservice: {label: a, metrics: {rate: up}}",
			`mine.yaml:4: the file is "servise"; must be without this field`},
		"an unknown metric":    {head + "service:\n  label: a\n  metrics:\n    rat: up\n", `did you mean "rate"`},
		"a metric twice":       {head + "service:\n  label: a\n  metrics:\n    rate: up\n    rate: up\n", "mine.yaml"},
		"no label":             {head + "service:\n  metrics:\n    rate: up\n", "service.metrics.rate.label"},
		"a label that is none": {head + "service:\n  label: a-b\n  metrics:\n    rate: up\n", `service.label is "a-b"`},
		"a bad expression": {head + "service:\n  label: a\n  regexp: '('\n  metrics:\n    rate: up\n",
			"mine.yaml:6: service.regexp"},
		"a scale that is none": {head + "service:\n  label: a\n  metrics:\n    rate: {query: up, scale: -1}\n",
			`scale is "-1"; must be a number above 0`},
		"an open bracket": {head + "service:\n  label: a\n  metrics:\n    rate: sum(up\n",
			`mine.yaml:7: service.metrics.rate is "sum(up"; must be PromQL: '(' is never closed`},
		"a bracket too many": {head + "service:\n  label: a\n  metrics:\n    rate: sum(up))\n", "closes nothing"},
		"an open quotation":  {head + "service:\n  label: a\n  metrics:\n    rate: up{a=\"b}\n", "is never closed"},
		"an unknown variable": {head + "service:\n  label: a\n  metrics:\n    rate: up{namespace=\"$namspace\"}\n",
			`"$namspace", which is nowhere set; did you mean "namespace"`},
		"a variable that is taken": {head + "variables: {step: 1m}\nservice:\n  label: a\n  metrics:\n    rate: up\n", "variables.step"},
		"an unknown preset":        {head + "with: cadvisor\nservice:\n  label: a\n  metrics:\n    rate: up\n", "cadvisor-ksm"},
		"calls to nobody":          {head + "calls:\n  from: a\n  metrics:\n    rate: up\n", "calls.to is absent"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("mine.yaml", []byte(row.text))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(onlyRate)) // the embedded ones are long: minimising them takes minutes
	f.Add([]byte("version: 1\nname: x\nprobe: up\nvariables: {a: b}\ncalls:\n  from: a\n  to: [b, c]\n  outside: x|y\n  metrics: {rate: {query: 'f{$a}[$window]', scale: 0.1}}"))
	f.Add([]byte("version: 1\nname: x\nprobe: up\nservice: [1]\ncalls: 3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("fuzz.yaml", text)
		if err != nil {
			return
		}
		for _, j := range jobs(p, setting()) {
			if j.text == "" {
				t.Error("an empty query")
			}
		}
	})
}

func TestServerFaults(t *testing.T) {
	for name, row := range map[string]struct {
		server Server
		want   string
	}{
		"none":                   {Server{}, "no Prometheus is given"},
		"no scheme":              {Server{URL: "prometheus:9090"}, "must begin with http://"},
		"credentials in the URL": {Server{URL: "http://me:hush@host"}, "--password-file"},
		"too long":               {Server{URL: "http://host/api/v1/"}, "without /api/v1"},
		"a query":                {Server{URL: "http://host?token=hush"}, "what follows ?"},
		"token and user":         {Server{URL: "http://host", Token: "hush", Username: "me"}, "must be one of them"},
		"no such file":           {Server{URL: "http://host", TokenFile: "nowhere"}, "nowhere"},
		"half a certificate":     {Server{URL: "http://host", CertFile: "preset.go"}, "key file"},
		"a header with a line":   {Server{URL: "http://host", Headers: map[string]string{"A": "b\nhush"}}, "on one line"},
		"authorization":          {Server{URL: "http://host", Headers: map[string]string{"authorization": "hush"}}, "--token-file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewClient(row.server)
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v, want %q and no secret", err, row.want)
			}
		})
	}
}

// TestTheFileInTheDocs: the example is a sound file, and its query by owner
// finds the same CPU as the preset's by name.
func TestTheFileInTheDocs(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(docs), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/history.md has no example")
	}
	p, err := Parse("docs/history.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := prometheus(t)
	p.Probe = `istio_requests_total{destination_workload_namespace="$namespace"}`
	own := pull(client(t, Server{URL: w.url}), t.TempDir(), "shop")
	own.Preset = p
	_, got := mustPull(t, own)
	want := w.plain(t)
	for _, s := range want.Services {
		compare(t, s.Name+" cpu", gauge, got.Service(s.Name).Series[history.CPU], s.Series[history.CPU], want)
	}
}
