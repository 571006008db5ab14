package prom

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
)

// Preset says which queries yield which metrics, for one way of measuring
// traffic and resources.
type Preset struct {
	Name  string
	About string
	With  []string // presets that supply what this one does not have
	// Probe selects series that exist wherever the preset fits.
	Probe string
	// NamespaceLabel is where to look for namespaces when there is nothing.
	NamespaceLabel string
	Variables      map[string]string
	Embedded       bool // it is one of Presets, unchanged

	Service [history.ServiceMetrics]*Query
	Calls   [history.CallMetrics]*Query
	Nodes   [history.NodeMetrics]*Query

	// ContainerCounter and ContainerGauge yield a metric of services that the table
	// has a container series for and the preset no query: $series is that series.
	ContainerCounter, ContainerGauge *Query

	// What only a controller asks for, about the present; nil = it cannot be had.
	// Histograms are rates by the label "le": of all requests to a service, of users'
	// requests to it, and of those among them that failed.
	Buckets, FailedBuckets         *Query
	UserBuckets, FailedUserBuckets *Query
	Pods                           [loadline.PodMetrics]*Query
}

// Query yields one metric of all services, or of all calls.
type Query struct {
	Text   string  // PromQL; empty = it cannot be measured
	Scale  float64 // on every value: 0.001 turns milliseconds into seconds
	Absent string  // the likely reason when it yields nothing
	// Newest is PromQL under the same labels that yields when the newest sample was
	// scraped; empty = as the preset's probe.
	Newest string

	// Service names the service, or Pod the pod, or Node the node; From, To and Operation
	// the calls. Each takes the first of its labels that has a value.
	Service, Pod, Node, From, To, Operation Naming
	Outside                                 *regexp.Regexp // callers that are users; nil = those without a name
}

// Naming makes a name of a series' labels.
type Naming struct {
	Labels []string       // the first that is not empty counts
	Regexp *regexp.Regexp // nil = the whole value; else its first group, or what matches if it has none
}

//go:embed presets/*.yaml
var embedded embed.FS

// traffic lists the presets that measure traffic, in the order in which they
// are preferred where several fit: those that see every call come first.
var traffic = []string{"istio", "linkerd", "otel-spanmetrics", "otel-http", "knative", "nginx-ingress"}

// Presets are the names of the embedded ones.
func Presets() []string { return append(slices.Clone(traffic), "cadvisor-ksm") }

// Load reads an embedded preset, with everything that it is combined with.
func Load(name string) (*Preset, error) {
	if !slices.Contains(Presets(), name) {
		return nil, fmt.Errorf("unknown preset %q%s", name, suggest.Hint(name, Presets()))
	}
	text, err := embedded.ReadFile("presets/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	p, err := Parse("presets/"+name+".yaml", text)
	if err == nil {
		p.Embedded = true
	}
	return p, err
}

// Parse reads a preset from a file's text, and fills in what it leaves to the
// presets that it is combined with. Every fault is told, with file, line, field
// and value.
func Parse(file string, text []byte) (*Preset, error) {
	p, err := parseFile(file, text)
	if err != nil {
		return nil, err
	}
	for _, name := range p.With {
		other, err := Load(name)
		if err != nil {
			return nil, err
		}
		p.combine(other)
	}
	p.deriveQueries()
	return p, p.checkVariables(file)
}

// deriveQueries makes the queries of metrics that a container series shows and
// nothing else was said of.
func (p *Preset) deriveQueries() {
	for m := range loadline.ServiceTable {
		row := &loadline.ServiceTable[m]
		var template *Query
		switch row.Aggregation {
		case loadline.PerSecond:
			template = p.ContainerCounter
		case loadline.Gauge:
			template = p.ContainerGauge
		}
		if p.Service[m] != nil || row.Series == "" || template == nil {
			continue
		}
		q := *template
		q.Text = strings.ReplaceAll(q.Text, "$series", row.Series)
		p.Service[m] = &q
	}
}

// combine takes from another preset what this one does not have.
func (p *Preset) combine(other *Preset) {
	// Who states quantiles of their own does not want those of other buckets.
	if p.Buckets == nil && !stated(p.Service[history.LatencyP50:history.LatencyP99+1]) {
		p.Buckets, p.FailedBuckets = other.Buckets, other.FailedBuckets
	}
	if p.UserBuckets == nil && !stated(p.Calls[history.CallP50:history.CallP99+1]) {
		p.UserBuckets, p.FailedUserBuckets = other.UserBuckets, other.FailedUserBuckets
	}
	if p.ContainerCounter == nil && p.ContainerGauge == nil {
		p.ContainerCounter, p.ContainerGauge = other.ContainerCounter, other.ContainerGauge
	}
	for m, q := range other.Pods {
		if p.Pods[m] == nil {
			p.Pods[m] = q
		}
	}
	for m, q := range other.Service {
		if p.Service[m] == nil {
			p.Service[m] = q
		}
	}
	for m, q := range other.Calls {
		if p.Calls[m] == nil {
			p.Calls[m] = q
		}
	}
	for m, q := range other.Nodes {
		if p.Nodes[m] == nil {
			p.Nodes[m] = q
		}
	}
	for name, value := range other.Variables {
		if _, stated := p.Variables[name]; !stated {
			p.Variables[name] = value
		}
	}
}

func stated(queries []*Query) bool {
	return slices.ContainsFunc(queries, func(q *Query) bool { return q != nil })
}

// Setting is what a query's variables stand for.
type Setting struct {
	Namespace string
	Step      time.Duration
	Scrape    time.Duration // between two scrapes
	Variables map[string]string
}

// Window is over how long rates are taken: a step, but no less than
// loadline.RateScrapes.
func (s Setting) Window() time.Duration { return max(s.Step, loadline.RateScrapes*s.Scrape) }

// values of the variables that every query may use.
func (s Setting) values() map[string]string {
	return map[string]string{
		"namespace":    s.Namespace,
		"step":         promDuration(s.Step),
		"step_seconds": strconv.FormatFloat(s.Step.Seconds(), 'f', -1, 64),
		"window":       promDuration(s.Window()),
		"scrape":       promDuration(s.Scrape),
	}
}

// promDuration writes a time as PromQL has it.
func promDuration(d time.Duration) string { return model.Duration(d).String() }

// variable is $name; $1 is left to label_replace.
var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z_0-9]*`)

// Expand puts the variables' values into a text. Values may use variables
// themselves, one level deep. A preset's variables are pieces of PromQL.
func (p *Preset) Expand(text string, s Setting) string {
	fixed := s.values()
	put := func(text string, more map[string]string) string {
		return variable.ReplaceAllStringFunc(text, func(name string) string {
			if v, ok := fixed[name[1:]]; ok {
				return v
			}
			if v, ok := more[name[1:]]; ok {
				return v
			}
			return name
		})
	}
	own := map[string]string{}
	for name, value := range p.Variables {
		own[name] = value
	}
	for name, value := range s.Variables {
		own[name] = value
	}
	return put(put(text, own), nil)
}

// Override checks variables that a user gives on the command line.
func (p *Preset) Override(variables map[string]string) error {
	for name := range variables {
		if _, known := p.Variables[name]; !known {
			var names []string
			for n := range p.Variables {
				names = append(names, n)
			}
			slices.Sort(names)
			return fmt.Errorf("preset %s has no variable %q%s", p.Name, name, suggest.Hint(name, names))
		}
	}
	return nil
}

// Of names a series by its labels; it is empty where no label has a value or
// the expression does not match.
func (n Naming) Of(label func(string) string) string {
	for _, l := range n.Labels {
		value := label(l)
		if value == "" {
			continue
		}
		if n.Regexp == nil {
			return value
		}
		groups := n.Regexp.FindStringSubmatch(value)
		if groups == nil {
			return ""
		}
		return groups[min(1, len(groups)-1)]
	}
	return ""
}

func (n Naming) empty() bool { return len(n.Labels) == 0 }

// Ends names the calls that a series speaks of: from is empty for users, to where
// the labels name nobody.
func (q *Query) Ends(label func(string) string) (from, to, operation string) {
	from, to, operation = q.From.Of(label), q.To.Of(label), q.Operation.Of(label)
	if q.Outside != nil && q.Outside.MatchString(from) {
		from = ""
	}
	return from, to, operation
}

// String is how messages name it.
func (n Naming) String() string { return strings.Join(n.Labels, ", ") }

// Text of an embedded preset, to begin one's own with.
func Text(name string) ([]byte, error) {
	if _, err := Load(name); err != nil {
		return nil, err
	}
	return embedded.ReadFile("presets/" + name + ".yaml")
}
