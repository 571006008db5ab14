package prom

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
)

// Queue is the queue that a service takes its work from, as an exporter measures it.
type Queue struct {
	Service string // whose pods take messages from it
	Kind    string // one of QueueKinds
	Name    string // of the topic or the queue
	Group   string // of consumers: Kafka's
	VHost   string // RabbitMQ's; empty = any
}

// Kinds of queues, by what exports their metrics.
const (
	Kafka    = "kafka"    // kafka_exporter
	RabbitMQ = "rabbitmq" // RabbitMQ's own plugin, by queue: /metrics/detailed or /metrics/per-object
	SQS      = "sqs"      // an exporter of CloudWatch, with periods of a minute
)

// QueueKinds are the kinds that can be measured.
func QueueKinds() []string { return []string{Kafka, RabbitMQ, SQS} }

// longestInQueue is the time in queue of messages that nobody takes, in seconds: at least the latency
// of any objective.
const longestInQueue = 3600

// ParseQueue reads SERVICE=KIND:NAME, with group=NAME or vhost=NAME after commas.
func ParseQueue(text string) (Queue, error) {
	service, rest, ok := strings.Cut(text, "=")
	kind, rest, named := strings.Cut(rest, ":")
	if !ok || !named || service == "" {
		return Queue{}, fmt.Errorf("queue %q must be SERVICE=KIND:NAME, such as mailer=kafka:mails,group=mailer", text)
	}
	name, rest, _ := strings.Cut(rest, ",")
	q := Queue{Service: service, Kind: kind, Name: name}
	for rest != "" {
		var setting string
		setting, rest, _ = strings.Cut(rest, ",")
		switch key, value, _ := strings.Cut(setting, "="); key {
		case "group":
			q.Group = value
		case "vhost":
			q.VHost = value
		default:
			return q, fmt.Errorf("queue %q: unknown setting %q%s; there are group and vhost", text, key,
				suggest.Hint(key, []string{"group", "vhost"}))
		}
	}
	return q, q.Check()
}

// Check reports what is wrong with a queue.
func (q *Queue) Check() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("queue of "+q.Service+": "+format, args...))
	}
	switch q.Kind {
	case Kafka, RabbitMQ, SQS:
	default:
		add("unknown kind %q%s; must be one of %s", q.Kind, suggest.Hint(q.Kind, QueueKinds()), strings.Join(QueueKinds(), ", "))
	}
	if q.Name == "" {
		add("the name of the topic or queue is missing")
	}
	if q.Kind == Kafka && q.Group == "" {
		add("the consumer group is missing: lag is that of a group")
	}
	for _, text := range []string{q.Name, q.Group, q.VHost} {
		if strings.ContainsAny(text, "\"\\$\n") { // they would end a text of PromQL, or begin a variable
			add("%q must not have quotes, backslashes, $ or line breaks", text)
		}
	}
	return errors.Join(faults...)
}

// parts of what is measured of a queue, each one series without labels. Empty = not exported.
type queueParts struct {
	arriving, finished  string // messages per second
	waiting, unfinished string // messages; unfinished are those that are being worked on too
	oldest              string // seconds that the oldest message has waited, where that is exported
	scraped             string // a selector of what shows when the exporter was scraped
	absent              string
}

func (q *Queue) parts() queueParts {
	switch q.Kind {
	case Kafka:
		of := fmt.Sprintf("{topic=%q, consumergroup=%q}", q.Name, q.Group)
		return queueParts{
			arriving: fmt.Sprintf("sum(rate(kafka_topic_partition_current_offset{topic=%q}[$window]))", q.Name),
			finished: "sum(rate(kafka_consumergroup_current_offset" + of + "[$window]))",
			// Partitions without a committed offset have a lag of -1. What is being worked on is not
			// told from what waits: the lag is of both.
			unfinished: "sum(kafka_consumergroup_lag" + of + " >= 0)",
			scraped:    "kafka_consumergroup_lag" + of,
			absent:     "kafka_exporter is not scraped, or the topic or the consumer group has another name",
		}
	case RabbitMQ:
		of := fmt.Sprintf("{queue=%q}", q.Name)
		if q.VHost != "" {
			of = fmt.Sprintf("{queue=%q, vhost=%q}", q.Name, q.VHost)
		}
		either := func(form, name string) string {
			return "(" + fmt.Sprintf(form, "rabbitmq_detailed_"+name+of) + " or " + fmt.Sprintf(form, "rabbitmq_"+name+of) + ")"
		}
		acked, unasked := either("sum(rate(%s[$window]))", "channel_messages_acked_total"),
			either("sum(rate(%s[$window]))", "channel_messages_delivered_total")
		return queueParts{
			arriving: either("sum(rate(%s[$window]))", "queue_messages_published_total"),
			// With automatic acknowledgement messages are finished as they are delivered.
			finished:   "(" + acked + " + " + unasked + " or " + acked + " or " + unasked + ")",
			waiting:    either("sum(%s)", "queue_messages_ready"),
			unfinished: either("sum(%s)", "queue_messages"),
			scraped:    either("%s", "queue_messages_ready"),
			absent: "RabbitMQ's metrics by queue are not scraped (/metrics/detailed with the families queue_coarse_metrics, " +
				"channel_queue_metrics and channel_queue_exchange_metrics, or /metrics/per-object), or the queue has another name",
		}
	}
	either := func(metric, statistic string) string {
		name := "aws_sqs_" + metric + "_" + statistic
		return fmt.Sprintf("(%s{dimension_QueueName=%q} or %s{queue_name=%q})", name, q.Name, name, q.Name)
	}
	visible, hidden := either("approximate_number_of_messages_visible", "average"),
		either("approximate_number_of_messages_not_visible", "average")
	return queueParts{
		arriving:   "sum(" + either("number_of_messages_sent", "sum") + ") / 60",
		finished:   "sum(" + either("number_of_messages_deleted", "sum") + ") / 60",
		waiting:    "sum(" + visible + ")",
		unfinished: "(sum(" + visible + ") + sum(" + hidden + "))",
		oldest:     "max(" + either("approximate_age_of_oldest_message", "maximum") + ")",
		scraped:    visible,
		absent:     "no exporter of CloudWatch is scraped, its statistics are others (average, sum, maximum), or the queue has another name",
	}
}

// timeInQueue is the mean time from the arrival of a message until it is finished, in seconds, by
// Little's law: unfinished messages over those that are finished per second. Where messages wait and
// none is finished it is the longest.
func (p *queueParts) timeInQueue() string {
	if p.oldest != "" {
		return p.oldest
	}
	return fmt.Sprintf("(clamp_max((%[1]s) / ((%[2]s) > 0), %[3]d) or (((%[1]s) > bool 0) * %[3]d and ((%[2]s) == 0)))",
		p.unfinished, p.finished, longestInQueue)
}

// WithQueues is the preset with the metrics of queues for the services that have one. Of those services
// the rate is that of messages, queue and concurrency are messages that wait and that are not finished,
// and the latency is the time in queue. A history has no concurrency and no latency of them: by these a
// twin would mistake messages that wait for work that is done at once.
func (p *Preset) WithQueues(queues []Queue, forHistory bool) (*Preset, error) {
	if len(queues) == 0 {
		return p, nil
	}
	own := *p
	own.Embedded = false // its queries are of one application
	for i := range queues {
		q := &queues[i]
		if err := q.Check(); err != nil {
			return nil, err
		}
		parts := q.parts()
		set := func(m history.ServiceMetric, text string) error {
			if text == "" {
				return nil
			}
			query, err := own.Service[m].orOf(q.Service, text, parts.scraped)
			if err != nil {
				return fmt.Errorf("preset %s, queue of %s: %w", p.Name, q.Service, err)
			}
			query.Absent = strings.TrimPrefix(query.Absent+"; of a queue: "+parts.absent, "; ")
			own.Service[m] = query
			return nil
		}
		waiting := parts.waiting
		if waiting == "" && forHistory {
			waiting = parts.unfinished
		}
		faults := []error{set(history.Rate, parts.arriving), set(history.Queue, waiting)}
		if !forHistory {
			faults = append(faults, set(history.Concurrency, parts.unfinished), set(history.LatencyMean, parts.timeInQueue()))
		}
		if err := errors.Join(faults...); err != nil {
			return nil, err
		}
	}
	return &own, nil
}

// orOf is a query that has the value of a text for one service, and for all others what it had. Nil is a
// query that had nothing.
func (q *Query) orOf(service, text, scraped string) (*Query, error) {
	if q == nil || q.Text == "" {
		const label = "service"
		return &Query{Text: named(text, label, service), Scale: 1, Newest: named("max(timestamp("+scraped+"))", label, service),
			Service: Naming{Labels: []string{label}}}, nil
	}
	own := *q
	if len(q.Service.Labels) == 0 {
		return nil, errors.New("the preset's query names no services by a label: give queries with one")
	}
	label := q.Service.Labels[0]
	if got := q.Service.Of(func(name string) string {
		if name == label {
			return service
		}
		return ""
	}); got != service {
		return nil, fmt.Errorf("the preset's expression %s reads the name %q as %q: give queries whose names of services are whole",
			q.Service.Regexp, service, got)
	}
	if q.Scale != 0 && q.Scale != 1 {
		text = fmt.Sprintf("(%s) / %g", text, q.Scale)
	}
	own.Text = named(text, label, service) + " or (" + q.Text + ")"
	if q.Newest != "" {
		own.Newest = named("max(timestamp("+scraped+"))", label, service) + " or (" + q.Newest + ")"
	}
	return &own, nil
}

// named gives a series without labels the name of a service.
func named(text, label, service string) string {
	return fmt.Sprintf(`label_replace(%s, %q, %q, "", "")`, text, label, service)
}
