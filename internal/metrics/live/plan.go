package live

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// subject is what the series of a question speak of.
type subject int

const (
	ofServices subject = iota
	ofCalls
	ofPods
	ofAll // one series for everything
)

// shape is how series become values.
type shape int

const (
	largest shape = iota // of several series with one name
	added                // several series with one name are parts of a whole
	buckets              // of a histogram, by their upper bounds
)

// question is one query about now. It is asked once for all services.
type question struct {
	name   string
	of     subject
	shape  shape
	query  *prom.Query // names the series
	text   string
	key    string        // equal for questions with the same answer
	newest int           // the question whose answer is when this one's was scraped
	oldest time.Duration // how old an answer may be if that one has none

	own      bool // its text is the user's
	embedded bool // its text is ours, apart from the namespace: it may be joined with others
}

// none stands for a question that the preset has no query for.
const none = -1

// plan is everything that is asked in one observation.
type plan struct {
	preset    *prom.Preset
	setting   prom.Setting
	questions []question

	service          [history.ServiceMetrics]int
	buckets, failed  int // histograms of all that services are asked
	call             [history.CallMetrics]int
	users, usersFail int // histograms of users' requests
	pod              [loadline.PodMetrics]int
	shares           []int // of kinds: the share over the SLO, as a rule records it
}

// Quantiles that an observation has, by the metrics that stand in where there are
// no buckets.
var (
	serviceQuantiles = []history.ServiceMetric{history.LatencyP50, history.LatencyP90, history.LatencyP95, history.LatencyP99}
	callQuantiles    = []history.CallMetric{history.CallP50, history.CallP90, history.CallP95, history.CallP99}
	quantiles        = []float64{0.5, 0.9, 0.95, 0.99}
)

// newPlan lists the queries that a preset has for what an observation wants, those
// first that matter most: if time runs out, it does so for the last. One query of
// buckets serves every quantile, and costs the server less than each.
func newPlan(p *prom.Preset, s prom.Setting, kinds []Where) *plan {
	l := &plan{preset: p, setting: s}
	for m := range l.service {
		l.service[m] = none
	}
	for m := range l.call {
		l.call[m] = none
	}
	for _, m := range observed() {
		if !asks(p.Buckets) || !slices.Contains(serviceQuantiles, m) {
			row := &loadline.ServiceTable[m]
			l.service[m] = l.add("service "+row.Name, ofServices, shapeOf(row.Aggregation), p.Service[m])
		}
	}
	calls := []history.CallMetric{history.CallRate, history.CallErrors, history.CallMean}
	if !asks(p.UserBuckets) {
		calls = append(calls, callQuantiles...)
	}
	for _, m := range calls {
		l.call[m] = l.add("call "+m.String(), ofCalls, shapeOf(m.About().Aggregation), p.Calls[m])
	}
	l.users = l.add("call buckets", ofCalls, buckets, p.UserBuckets)
	l.usersFail = l.add("call failed buckets", ofCalls, buckets, p.FailedUserBuckets)
	l.buckets = l.add("service buckets", ofServices, buckets, p.Buckets)
	l.failed = l.add("service failed buckets", ofServices, buckets, p.FailedBuckets)
	for m := range loadline.PodMetrics {
		l.pod[m] = l.add("pod "+m.String(), ofPods, added, p.Pods[m])
	}
	l.askForAges()
	l.askForShares(kinds)
	for i := range l.questions {
		q := &l.questions[i]
		q.key, q.embedded = q.identity(), p.Embedded && len(s.Variables) == 0 && !q.own
	}
	return l
}

// askForShares adds the shares over the SLO that are recorded by rules.
func (l *plan) askForShares(kinds []Where) {
	l.shares = make([]int, len(kinds))
	for i := range kinds {
		l.shares[i] = none
		if kinds[i].Over == "" {
			continue
		}
		text := l.preset.Expand(kinds[i].Over, l.setting)
		l.shares[i] = len(l.questions)
		l.questions = append(l.questions,
			question{name: "share over the SLO", of: ofAll, shape: largest, query: &prom.Query{Scale: 1}, text: text, newest: len(l.questions) + 1,
				oldest: l.setting.Window(), own: true},
			question{name: "age of share over the SLO", of: ofAll, shape: largest, query: &prom.Query{Scale: 1},
				text: "max(timestamp(" + text + "))", newest: none, own: true})
	}
}

// identity of a question: its text and how series are read.
func (q *question) identity() string {
	n := q.query
	key := []string{q.name, q.text, strconv.Itoa(int(q.of)), strconv.Itoa(int(q.shape)), strconv.FormatFloat(n.Scale, 'g', -1, 64)}
	for _, of := range []prom.Naming{n.Service, n.Pod, n.Node, n.From, n.To, n.Operation} {
		key = append(key, strings.Join(of.Labels, "\x01"), expression(of.Regexp))
	}
	return strings.Join(append(key, expression(n.Outside)), "\x00")
}

func expression(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	return r.String()
}

// observed are the metrics of services that a query may fill in. Restarts are
// counted by pod.
func observed() []loadline.ServiceMetric {
	var list []loadline.ServiceMetric
	for m := range loadline.ServiceTable {
		if metric := loadline.ServiceMetric(m); loadline.ServiceTable[m].Field != nil && metric != loadline.ServiceRestarts {
			list = append(list, metric)
		}
	}
	return list
}

func shapeOf(a loadline.Aggregation) shape {
	if a.Adds() {
		return added
	}
	return largest
}

func asks(q *prom.Query) bool { return q != nil && q.Text != "" }

func (l *plan) add(name string, of subject, as shape, q *prom.Query) int {
	if !asks(q) {
		return none
	}
	l.questions = append(l.questions, question{
		name: name, of: of, shape: as, query: q, text: l.preset.Expand(q.Text, l.setting), oldest: q.Oldest(l.setting),
	})
	return len(l.questions) - 1
}

// askForAges adds the questions after the newest scrapes; many queries share one.
func (l *plan) askForAges() {
	type source struct {
		of     subject
		text   string
		naming string
	}
	asked := map[source]int{}
	for i := range l.questions {
		q := &l.questions[i]
		text, forAll := l.preset.NewestText(q.query, l.setting)
		key := source{q.of, text, q.query.Service.String() + q.query.Pod.String() + q.query.To.String()}
		if forAll {
			key = source{of: ofAll, text: text}
		}
		at, known := asked[key]
		if !known {
			at = len(l.questions)
			asked[key] = at
			l.questions = append(l.questions, question{name: "age of " + q.name, of: key.of, shape: largest, query: &prom.Query{
				Scale: 1, Service: q.query.Service, Pod: q.query.Pod, From: q.query.From, To: q.query.To, Operation: q.query.Operation,
				Outside: q.query.Outside,
			}, text: text, newest: none})
		}
		l.questions[i].newest = at // q may have moved
	}
}
