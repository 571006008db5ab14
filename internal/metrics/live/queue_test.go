package live

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// kafkaTopic is what kafka_exporter shows of a topic with two partitions and a group: messages arrive and
// are finished at rates, and the lag is as given. A third partition has no committed offset.
func kafkaTopic(topic, group string, seconds, arriving, finished, lag float64) string {
	var b strings.Builder
	for partition := range 2 {
		fmt.Fprintf(&b, "kafka_topic_partition_current_offset{topic=%q,partition=\"%d\"} %v\n", topic, partition, 1e6+arriving*seconds/2)
		of := fmt.Sprintf("{consumergroup=%q,topic=%q,partition=\"%d\"}", group, topic, partition)
		fmt.Fprintf(&b, "kafka_consumergroup_current_offset%s %v\nkafka_consumergroup_lag%s %v\n", of, 1e6+finished*seconds/2, of, lag/2)
	}
	fmt.Fprintf(&b, "kafka_consumergroup_lag{consumergroup=%q,topic=%q,partition=\"2\"} -1\n", group, topic)
	return b.String()
}

// rabbitQueue is what RabbitMQ shows of a queue, by endpoint: detailed, or per-object without the prefix.
func rabbitQueue(prefix, queue string, seconds, published, acked, ready, unacked float64) string {
	of := fmt.Sprintf("{queue=%q,vhost=\"/\"}", queue)
	channel := fmt.Sprintf("{channel=\"<1.2.3>\",queue=%q,vhost=\"/\"}", queue)
	return fmt.Sprintf("rabbitmq_%[1]squeue_messages_ready%[2]s %[4]v\nrabbitmq_%[1]squeue_messages_unacked%[2]s %[5]v\n"+
		"rabbitmq_%[1]squeue_messages%[2]s %[6]v\nrabbitmq_%[1]squeue_messages_published_total%[3]s %[7]v\n"+
		"rabbitmq_%[1]schannel_messages_acked_total%[3]s %[8]v\n", prefix, of, channel, ready, unacked, ready+unacked, published*seconds,
		acked*seconds)
}

// sqsQueue is what an exporter of CloudWatch shows of a queue, by the name of its label.
func sqsQueue(label, queue string, visible, hidden, sent, deleted, oldest float64) string {
	of := fmt.Sprintf("{%s=%q,region=\"eu-west-1\"}", label, queue)
	return fmt.Sprintf("aws_sqs_approximate_number_of_messages_visible_average%[1]s %[2]v\n"+
		"aws_sqs_approximate_number_of_messages_not_visible_average%[1]s %[3]v\naws_sqs_number_of_messages_sent_sum%[1]s %[4]v\n"+
		"aws_sqs_number_of_messages_deleted_sum%[1]s %[5]v\naws_sqs_approximate_age_of_oldest_message_maximum%[1]s %[6]v\n",
		of, visible, hidden, sent, deleted, oldest)
}

// queueApp has a service of users' requests and one worker for each queue, with an objective for each.
func queueApp(within time.Duration, workers ...string) (*loadline.App, []Where) {
	app := application(append([]string{"web"}, workers...)...)
	where := []Where{{Service: "web"}}
	for i, name := range workers {
		app.Kinds = append(app.Kinds, loadline.Kind{Name: name, SLO: loadline.SLO{Percentile: 99, Latency: within},
			Root: loadline.Call{Service: i + 1, Probability: 1, Times: 1}})
		where = append(where, Where{Service: name})
	}
	return app, where
}

// TestQueuesNow reads queues of every kind from a real Prometheus, beside a service with a mesh.
func TestQueuesNow(t *testing.T) {
	t.Parallel()
	need(t, "prometheus")
	var stuck, gone atomic.Bool
	p := scraped(t, t.TempDir(), map[string]func(float64) string{
		"/shop": func(at float64) string {
			text := istio("shop", "web", at, 50, 0)
			for _, name := range []string{"web", "kafka", "rabbit", "object", "sqs", "idle"} {
				text += cadvisor("shop", name+"-0", "1e6", at, 0.5)
			}
			return text
		},
		"/exporters": func(at float64) string {
			if gone.Load() {
				return ""
			}
			finished := 20.0
			if stuck.Load() {
				finished = 0
			}
			return kafkaTopic("orders", "workers", at, 30, 20, 600) + kafkaTopic("orders", "others", at, 30, 30, 5) +
				kafkaTopic("stuck", "workers", at, 30, finished, 600) + kafkaTopic("idle", "workers", 0, 0, 0, 0) +
				rabbitQueue("detailed_", "mails", at, 10, 8, 30, 10) + rabbitQueue("", "prints", at, 10, 10, 0, 5) +
				sqsQueue("dimension_QueueName", "parcels", 90, 30, 1200, 600, 75)
		},
	})
	app, where := queueApp(20*time.Second, "kafka", "rabbit", "object", "sqs", "idle", "nobody")
	queues := []prom.Queue{
		{Service: "kafka", Kind: prom.Kafka, Name: "orders", Group: "workers"},
		{Service: "rabbit", Kind: prom.RabbitMQ, Name: "mails", VHost: "/"},
		{Service: "object", Kind: prom.RabbitMQ, Name: "prints"},
		{Service: "sqs", Kind: prom.SQS, Name: "parcels"},
		{Service: "idle", Kind: prom.Kafka, Name: "idle", Group: "workers"},
		{Service: "nobody", Kind: prom.Kafka, Name: "orders", Group: "unknown"},
	}
	s := source(t, p.url, Options{App: app, Kinds: where, Namespace: "shop", Queues: queues})
	pods := make([][]string, len(app.Services))
	type want struct{ rate, inside, waiting, inQueue, over float64 }
	wants := []want{{30, 600, math.NaN(), 30, 1}, {10, 40, 30, 5, 0}, {10, 5, 0, 0.5, 0}, {20, 120, 90, 75, 1}, {0, 0, math.NaN(), 0, 0}}
	var o *loadline.Observation
	fits := func(got loadline.Sample, want float64) bool {
		return got.Present() != math.IsNaN(want) && (!got.Present() || math.Abs(got.Value-want) <= 0.3*want+1e-9)
	}
	eventually(t, "rates over a full window", func() bool {
		var err error
		if o, err = tryObserve(t.Context(), s, time.Now(), pods...); err != nil || !s.Report().Sure {
			return false
		}
		for i, w := range wants {
			if !fits(o.Services[i+1].Rate, w.rate) || !fits(o.Kinds[i+1].AtSLO, w.inQueue) {
				return false
			}
		}
		return fits(o.Services[0].Rate, 50) && fits(o.Kinds[0].Rate, 50)
	})
	for i, w := range wants {
		of, kind, name := &o.Services[i+1], &o.Kinds[i+1], app.Services[i+1].Name
		if !fits(of.Concurrency, w.inside) || !fits(of.Queue, w.waiting) {
			t.Errorf("%s: %v in the queue, %v waiting, want %v and %v", name, show(of.Concurrency), show(of.Queue), w.inside, w.waiting)
		}
		if !fits(of.Latency.P99, w.inQueue) || !kind.OverSLO.Present() || kind.OverSLO.Value != w.over {
			t.Errorf("%s: %v in the queue, %v over the objective, want %v and %v", name, show(of.Latency.P99), show(kind.OverSLO), w.inQueue, w.over)
		}
		if age := time.Since(of.Concurrency.At); age > 30*time.Second && o.At.Sub(of.Concurrency.At) > 10*time.Second {
			t.Errorf("%s: the sample is of %v", name, of.Concurrency.At)
		}
	}
	near(t, "CPU of a worker", o.Services[1].CPU, 0.5, 0.5)
	near(t, "latency of the service with a mesh", o.Services[0].Latency.Mean, 0.05, 0.1)
	near(t, "over the SLO of the service with a mesh", o.Kinds[0].OverSLO, 0, 0)
	nobody := &o.Services[6]
	absent(t, "queue of an unknown group", nobody.Concurrency)
	absent(t, "time in the queue of an unknown group", o.Kinds[6].AtSLO)
	near(t, "messages that nobody takes", nobody.Rate, 30, 0.3) // the topic is known, the group is not
	told := false
	for _, d := range s.Report().Of(loadline.OfService, "nobody", "concurrency") {
		told = told || d.Why != ""
	}
	if !told {
		t.Errorf("nothing is said of the group that is not there: %+v", s.Report().Lacking())
	}

	t.Run("consumers that are stuck", func(t *testing.T) {
		stuck.Store(true)
		app, where := queueApp(20*time.Second, "kafka")
		s := source(t, p.url, Options{App: app, Kinds: where, Namespace: "shop", Queues: []prom.Queue{
			{Service: "kafka", Kind: prom.Kafka, Name: "stuck", Group: "workers"}}})
		eventually(t, "a window in which nothing is finished", func() bool {
			o, err := tryObserve(t.Context(), s, time.Now(), nil, nil)
			return err == nil && o.Kinds[1].AtSLO.Present() && o.Kinds[1].AtSLO.Value == 3600 && o.Kinds[1].OverSLO.Value == 1
		})
	})
	t.Run("an exporter that is gone is not an empty queue", func(t *testing.T) {
		gone.Store(true)
		eventually(t, "no sample, or an old one", func() bool {
			now := time.Now()
			o, err := tryObserve(t.Context(), s, now, pods...)
			return err == nil && (!o.Services[1].Concurrency.Present() || now.Sub(o.Services[1].Concurrency.At) > 15*time.Second)
		})
	})
}

// TestRecordedShareNow: the share over the objective that a recording rule has replaces that of the
// histogram, with the age of the rule's last evaluation.
func TestRecordedShareNow(t *testing.T) {
	t.Parallel()
	need(t, "prometheus")
	p := scraped(t, t.TempDir(), map[string]func(float64) string{"/shop": func(at float64) string {
		return istio("shop", "web", at, 50, 5) + cadvisor("shop", "web-0", "1e6", at, 0.5) +
			"slo:sli_error:ratio_rate5m{sloth_id=\"shop-web\"} 0.0125\nslo:sli_error:ratio_rate5m{sloth_id=\"other\"} 0.5\n"
	}})
	read := func(over string) (*loadline.Observation, *Source) {
		s := source(t, p.url, Options{App: application("web"), Kinds: []Where{{Service: "web", Over: over}}, Namespace: "shop"})
		var o *loadline.Observation
		eventually(t, "the latency of requests", func() bool {
			var err error
			o, err = tryObserve(t.Context(), s, time.Now(), nil)
			return err == nil && o.Kinds[0].AtSLO.Present()
		})
		return o, s
	}
	o, _ := read(`slo:sli_error:ratio_rate5m{sloth_id="shop-web"}`)
	near(t, "recorded share", o.Kinds[0].OverSLO, 0.0125, 0)
	if age := o.At.Sub(o.Kinds[0].OverSLO.At); age < 0 || age > time.Minute {
		t.Errorf("the share is %v old", age)
	}
	near(t, "latency beside it", o.Kinds[0].AtSLO, 0.235, 0.05)
	o, s := read(`slo:sli_error:ratio_rate5m{sloth_id="nobody"}`)
	absent(t, "share of a rule that does not exist", o.Kinds[0].OverSLO)
	if list := s.Report().Of(loadline.OfKind, "all requests", "over_slo"); len(list) == 0 {
		t.Error("nothing is said of the rule that does not exist")
	}
}
