package prom

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// TestPullOfAQueue: a service with a queue has its rate and length in the history, the others what they
// have without it, and the same pull resumes with the same queries.
func TestPullOfAQueue(t *testing.T) {
	w := prometheus(t)
	p := pull(client(t, Server{URL: w.url}), t.TempDir(), "shop")
	p.Queues = []Queue{{Service: "mailer", Kind: Kafka, Name: "mails", Group: "mailers"}}
	report, got := mustPull(t, p)
	mailer := got.Service("mailer")
	if mailer == nil {
		t.Fatalf("services %v", report.Services)
	}
	for step := 8; step < got.Steps-1; step++ {
		rate, known := mailer.Series[history.Rate].Get(step)
		if !known || math.Abs(rate-30) > 0.01 {
			t.Fatalf("step %d: %v messages a second (%v), want 30", step, rate, known)
		}
		// Step i ends at the instant of scrape i+1.
		length, known := mailer.Series[history.Queue].Get(step)
		if want := 10 * 15 * float64(step+1); !known || math.Abs(length-want) > 160 {
			t.Fatalf("step %d: %v messages (%v), want %v", step, length, known, want)
		}
	}
	for _, m := range []history.ServiceMetric{history.Concurrency, history.LatencyMean, history.LatencyP99} {
		if n := mailer.Series[m].Present(); n > 0 {
			t.Errorf("%d values of %v, by which a fit would take waiting for work", n, m)
		}
	}
	plain := w.plain(t)
	for _, s := range plain.Services {
		for _, m := range loadline.ServiceTable.Columns() {
			if m == history.Queue {
				continue
			}
			a, b := s.Series[m], got.Service(s.Name).Series[m]
			for step := range plain.Steps {
				x, has := a.Get(step)
				y, too := b.Get(step)
				if has != too || has && x != y {
					t.Fatalf("%s %v in step %d: %v with a queue elsewhere, %v without", s.Name, m, step, y, x)
				}
			}
		}
	}
}

// TestQueueQueriesAreParsed: with queues of all kinds every query of every preset is PromQL to
// Prometheus' own parser, and only those of the queue's metrics change.
func TestQueueQueriesAreParsed(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install --no-install-recommends prometheus")
	}
	rules := "groups:\n- name: queues\n  rules:\n"
	queues := []Queue{
		{Service: "a", Kind: Kafka, Name: "topic.one", Group: "group:two"}, {Service: "b", Kind: RabbitMQ, Name: "q", VHost: "/"},
		{Service: "c", Kind: RabbitMQ, Name: "q"}, {Service: "d", Kind: SQS, Name: "q.fifo"},
	}
	for _, name := range Presets() {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, forHistory := range []bool{false, true} {
			with, err := p.WithQueues(queues, forHistory)
			if err != nil {
				t.Fatal(err)
			}
			s := Setting{Namespace: "shop", Step: 15e9, Scrape: 15e9}
			for m, q := range with.Service {
				if q == nil || q.Text == "" {
					continue
				}
				newest, _ := with.NewestText(q, s)
				for _, text := range []string{with.Expand(q.Text, s), newest} {
					rules += fmt.Sprintf("  - {record: %q, expr: %q}\n", "queue:"+strings.ReplaceAll(name, "-", "_"), text)
				}
				changed := p.Service[m] == nil || q.Text != p.Service[m].Text
				if m := history.ServiceMetric(m); changed != (m == history.Rate || m == history.Queue ||
					!forHistory && (m == history.Concurrency || m == history.LatencyMean)) {
					t.Errorf("%s: the query of %v changed: %v", name, m, changed)
				}
			}
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=none", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestQueuesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"mailer":                                   "must be SERVICE=KIND:NAME",
		"mailer=kafka":                             "must be SERVICE=KIND:NAME",
		"mailer=kafka:mails":                       "the consumer group is missing",
		"mailer=kafak:mails,group=g":               `unknown kind "kafak"; did you mean "kafka"?`,
		"mailer=rabbitmq:":                         "the name of the topic or queue is missing",
		"mailer=kafka:mails,groop=g":               `unknown setting "groop"; did you mean "group"?`,
		`mailer=rabbitmq:a"} or vector(1) or {x="`: "must not have quotes",
		"mailer=sqs:$window":                       "must not have quotes, backslashes, $",
	} {
		if _, err := ParseQueue(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	q, err := ParseQueue("mailer=rabbitmq:mails,vhost=/eu")
	if want := (Queue{Service: "mailer", Kind: RabbitMQ, Name: "mails", VHost: "/eu"}); err != nil || q != want {
		t.Errorf("%+v, %v", q, err)
	}
	own, err := Parse("own.yaml", []byte("version: 1\nname: own\nprobe: up\nservice:\n  label: app\n  regexp: (.+)-primary\n"+
		"  metrics:\n    rate: sum by (app) (rate(x[$window]))\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.WithQueues([]Queue{q}, false); err == nil || !strings.Contains(err.Error(), "reads the name \"mailer\" as \"\"") {
		t.Errorf("names that an expression changes: %v", err)
	}
}
