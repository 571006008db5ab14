package prom

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// formatVersion of preset files. A newer one is refused.
const formatVersion = 1

// Fault is one thing that is wrong with a file of queries.
type Fault struct {
	File  string
	Line  int
	Field string
	Value string // as written; empty = absent
	Want  string // to follow "must be"
}

func (f Fault) Error() string {
	value := "is absent"
	if f.Value != "" {
		value = fmt.Sprintf("is %q", short(f.Value))
	}
	return fmt.Sprintf("%s:%d: %s %s; must be %s", f.File, f.Line, f.Field, value, f.Want)
}

// presetReader walks a file and gathers its faults.
type presetReader struct {
	file   string
	faults []Fault
}

func (r *presetReader) fault(n *yaml.Node, field, want string) {
	r.faults = append(r.faults, Fault{File: r.file, Line: n.Line, Field: field, Value: text(n), Want: want})
}

func text(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return n.Value
}

func (r *presetReader) err() error {
	slices.SortStableFunc(r.faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(r.faults))
	for i, f := range r.faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

func parseFile(file string, content []byte) (*Preset, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &presetReader{file: file}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s is empty; must be a preset with version, name and queries", file)
	}
	p := r.preset(doc.Content[0])
	return p, r.err()
}

// fields are the values of a mapping by name; unknown and repeated names are
// faults.
func (r *presetReader) fields(n *yaml.Node, path string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.fault(n, name(path, "the file"), "a mapping of "+strings.Join(known, ", "))
		return nil
	}
	found := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case found[key.Value] != nil:
			r.fault(key, join(path, key.Value), "stated once")
		case known != nil && !slices.Contains(known, key.Value):
			r.fault(key, name(path, "the file"), "without this field"+suggest.Hint(key.Value, known))
		default:
			found[key.Value] = value
		}
	}
	return found
}

func name(path, none string) string {
	if path == "" {
		return none
	}
	return path
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func (r *presetReader) preset(n *yaml.Node) *Preset {
	p := &Preset{Variables: map[string]string{}}
	f := r.fields(n, "", "version", "name", "about", "with", "probe", "namespace_label", "variables", "service", "calls", "pods", "nodes")
	if f == nil {
		return p
	}
	if v := f["version"]; v == nil || v.Value != strconv.Itoa(formatVersion) {
		r.fault(or(v, n), "version", fmt.Sprintf("%d", formatVersion))
	}
	p.Name = r.words(f["name"], n, "name", true)
	p.About = r.words(f["about"], n, "about", false)
	p.Probe = r.words(f["probe"], n, "probe", true)
	p.NamespaceLabel = r.words(f["namespace_label"], n, "namespace_label", false)
	if p.NamespaceLabel == "" {
		p.NamespaceLabel = "namespace"
	}
	for _, with := range r.list(f["with"], "with") {
		p.With = append(p.With, with)
		if !slices.Contains(Presets(), with) {
			r.fault(f["with"], "with", "built-in presets"+suggest.Hint(with, Presets()))
		}
	}
	if v := f["variables"]; v != nil {
		for key, value := range r.fields(v, "variables") {
			p.Variables[key] = r.words(value, v, "variables."+key, true)
			if _, fixed := (Setting{}).values()[key]; fixed {
				r.fault(value, "variables."+key, "another name: this one is set by the pull")
			}
		}
	}
	if f["service"] == nil && f["calls"] == nil {
		r.fault(n, "service", "given, or calls: there is nothing to ask for")
	}
	if s := f["service"]; s != nil {
		r.services(p, s)
	}
	if c := f["calls"]; c != nil {
		r.calls(p, c)
	}
	if v := f["pods"]; v != nil {
		r.pods(p, v)
	}
	if v := f["nodes"]; v != nil {
		r.nodes(p, v)
	}
	return p
}

func or(n, other *yaml.Node) *yaml.Node {
	if n != nil {
		return n
	}
	return &yaml.Node{Line: other.Line}
}

func (r *presetReader) services(p *Preset, n *yaml.Node) {
	g := r.group(n, "service", "service", "buckets", "failed_buckets", "container_counter", "container_gauge")
	for key, value := range r.metrics(g.fields["metrics"], n, "service.metrics") {
		m, known := loadline.ServiceTable.Named(key)
		if !known {
			r.fault(value, "service.metrics."+key, "a metric of a service"+suggest.Hint(key, loadline.ServiceTable.Names()))
			continue
		}
		p.Service[m] = g.named(value, "service.metrics."+key)
	}
	if v := g.fields["container_counter"]; v != nil {
		p.ContainerCounter = g.named(v, "service.container_counter")
	}
	if v := g.fields["container_gauge"]; v != nil {
		p.ContainerGauge = g.named(v, "service.container_gauge")
	}
	if v := g.fields["buckets"]; v != nil {
		p.Buckets = g.named(v, "service.buckets")
	}
	if v := g.fields["failed_buckets"]; v != nil {
		p.FailedBuckets = g.named(v, "service.failed_buckets")
	}
}

func (r *presetReader) pods(p *Preset, n *yaml.Node) {
	g := r.group(n, "pods", "pod")
	for key, value := range r.metrics(g.fields["metrics"], n, "pods.metrics") {
		m, known := loadline.PodTable.Named(key)
		if !known {
			r.fault(value, "pods.metrics."+key, "a metric of a pod"+suggest.Hint(key, loadline.PodTable.Names()))
			continue
		}
		q := g.named(value, "pods.metrics."+key)
		q.Pod, q.Service = q.Service, Naming{}
		p.Pods[m] = q
	}
}

func (r *presetReader) nodes(p *Preset, n *yaml.Node) {
	g := r.group(n, "nodes", "node")
	for key, value := range r.metrics(g.fields["metrics"], n, "nodes.metrics") {
		m, known := loadline.NodeTable.Named(key)
		if !known || loadline.NodeTable[m].Column == 0 {
			var names []string
			for _, m := range loadline.NodeTable.Columns() {
				names = append(names, m.String())
			}
			r.fault(value, "nodes.metrics."+key, "a metric of nodes that histories keep"+suggest.Hint(key, names))
			continue
		}
		q := g.named(value, "nodes.metrics."+key)
		q.Node, q.Service = q.Service, Naming{}
		p.Nodes[m] = q
	}
}

// group is queries that name one thing each, a service, a pod or a node: how, and when the
// newest sample was scraped, is said once for all or by a query itself.
type group struct {
	r      *presetReader
	path   string
	what   string
	fields map[string]*yaml.Node
	naming Naming
	newest string
}

func (r *presetReader) group(n *yaml.Node, path, what string, more ...string) *group {
	f := r.fields(n, path, append([]string{"label", "regexp", "newest", "metrics"}, more...)...)
	return &group{r: r, path: path, what: what, fields: f, naming: r.naming(f["label"], f["regexp"], path),
		newest: r.newest(f["newest"], path)}
}

// named reads a query of the group. Its Service is what names its series.
func (g *group) named(n *yaml.Node, path string) *Query {
	q, f := g.r.query(n, path, "label", "regexp")
	q.Newest = cmp.Or(q.Newest, g.newest)
	q.Service = g.naming
	if f["label"] != nil || f["regexp"] != nil {
		q.Service = g.r.naming(cmp.Or(f["label"], g.fields["label"]), f["regexp"], path)
	}
	if q.Service.empty() && q.Text != "" {
		g.r.fault(n, path+".label", fmt.Sprintf("the label that names the %s (here, or once under %s)", g.what, g.path))
	}
	return q
}

// newest reads a query for the time of the newest scrape.
func (r *presetReader) newest(n *yaml.Node, path string) string {
	if n == nil {
		return ""
	}
	r.promQL(n, path+".newest")
	if !strings.Contains(n.Value, "timestamp(") {
		r.fault(n, path+".newest", "PromQL for an instant, such as max by (app) (timestamp(http_requests_total))")
	}
	return n.Value
}

func (r *presetReader) calls(p *Preset, n *yaml.Node) {
	f := r.fields(n, "calls", "from", "to", "operation", "regexp", "outside", "newest", "buckets", "failed_buckets", "metrics")
	to := r.naming(f["to"], f["regexp"], "calls.to")
	if to.empty() {
		r.fault(or(f["to"], n), "calls.to", "the label that names the service which is called")
	}
	from := r.naming(f["from"], f["regexp"], "calls.from")
	operation := r.naming(f["operation"], nil, "calls.operation")
	outside := r.expression(f["outside"], "calls.outside")
	newest := r.newest(f["newest"], "calls")
	read := func(n *yaml.Node, path string) *Query {
		q, _ := r.query(n, path)
		q.Newest = cmp.Or(q.Newest, newest)
		q.From, q.To, q.Operation, q.Outside = from, to, operation, outside
		return q
	}
	for key, value := range r.metrics(f["metrics"], n, "calls.metrics") {
		m, known := loadline.CallTable.Named(key)
		if !known {
			r.fault(value, "calls.metrics."+key, "a metric of calls"+suggest.Hint(key, loadline.CallTable.Names()))
			continue
		}
		p.Calls[m] = read(value, "calls.metrics."+key)
	}
	if v := f["buckets"]; v != nil {
		p.UserBuckets = read(v, "calls.buckets")
	}
	if v := f["failed_buckets"]; v != nil {
		p.FailedUserBuckets = read(v, "calls.failed_buckets")
	}
}

func (r *presetReader) metrics(n, home *yaml.Node, path string) map[string]*yaml.Node {
	if n == nil {
		r.fault(or(nil, home), path, "a mapping from metrics to queries")
		return nil
	}
	return r.fields(n, path)
}

// query reads a query: its text, or a mapping.
func (r *presetReader) query(n *yaml.Node, path string, more ...string) (*Query, map[string]*yaml.Node) {
	q := &Query{Scale: 1}
	if n.Kind == yaml.ScalarNode {
		q.Text = n.Value
		r.promQL(n, path)
		return q, nil
	}
	f := r.fields(n, path, append([]string{"query", "scale", "absent", "newest"}, more...)...)
	q.Newest = r.newest(f["newest"], path)
	q.Absent = r.words(f["absent"], n, path+".absent", false)
	// What cannot be measured may say why instead.
	q.Text = r.words(f["query"], n, path+".query", q.Absent == "")
	if f["query"] != nil {
		r.promQL(f["query"], path+".query")
	}
	if s := f["scale"]; s != nil {
		v, err := strconv.ParseFloat(s.Value, 64)
		if err != nil || !(v > 0 && v < 1e12) {
			r.fault(s, path+".scale", "a number above 0, such as 0.001 for milliseconds")
		} else {
			q.Scale = v
		}
	}
	return q, f
}

// promQL catches slips before a server is asked: the server's parser has the
// last word.
func (r *presetReader) promQL(n *yaml.Node, path string) {
	open := []rune{}
	quoted := rune(0)
	pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
	escaped := false
	for _, c := range n.Value {
		switch {
		case escaped:
			escaped = false
		case quoted != 0 && c == '\\' && quoted != '`':
			escaped = true
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quoted = c
		case c == '(' || c == '[' || c == '{':
			open = append(open, c)
		case pairs[c] != 0:
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				r.fault(n, path, fmt.Sprintf("PromQL: %q closes nothing", c))
				return
			}
			open = open[:len(open)-1]
		}
	}
	switch {
	case strings.TrimSpace(n.Value) == "":
		r.fault(n, path, "PromQL")
	case quoted != 0:
		r.fault(n, path, fmt.Sprintf("PromQL: the quotation mark %q is never closed", quoted))
	case len(open) > 0:
		r.fault(n, path, fmt.Sprintf("PromQL: %q is never closed", open[len(open)-1]))
	}
}

// words is a text; where it must be there and is not, that is a fault.
func (r *presetReader) words(n, home *yaml.Node, path string, needed bool) string {
	switch {
	case n == nil && !needed:
		return ""
	case n == nil:
		r.fault(or(nil, home), path, "given")
		return ""
	case n.Kind != yaml.ScalarNode || needed && strings.TrimSpace(n.Value) == "":
		r.fault(n, path, "a text")
		return ""
	}
	return n.Value
}

// list is one text or several.
func (r *presetReader) list(n *yaml.Node, path string) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode && n.Value != "":
		return []string{n.Value}
	case n.Kind != yaml.SequenceNode:
		r.fault(n, path, "a name or a list of names")
		return nil
	}
	var list []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" {
			r.fault(item, path, "a list of names")
			continue
		}
		list = append(list, item.Value)
	}
	return list
}

func (r *presetReader) naming(labels, expression *yaml.Node, path string) Naming {
	n := Naming{Labels: r.list(labels, path+".label")}
	for _, l := range n.Labels {
		if !labelName.MatchString(l) {
			r.fault(labels, path+".label", "a label's name: letters, digits and _")
		}
	}
	n.Regexp = r.expression(expression, path+".regexp")
	return n
}

// expression is a regular expression that must match the whole of a value.
func (r *presetReader) expression(n *yaml.Node, path string) *regexp.Regexp {
	if n == nil {
		return nil
	}
	re, err := regexp.Compile("^(?:" + n.Value + ")$")
	if err != nil {
		r.fault(n, path, "a regular expression: "+err.Error())
	}
	return re
}

var labelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// checkVariables refuses what no variable stands for.
func (p *Preset) checkVariables(file string) error {
	known := []string{}
	for name := range (Setting{}).values() {
		known = append(known, name)
	}
	for name := range p.Variables {
		known = append(known, name)
	}
	slices.Sort(known)
	var faults []error
	check := func(field, text string) {
		for _, v := range variable.FindAllString(text, -1) {
			if !slices.Contains(known, v[1:]) {
				faults = append(faults, fmt.Errorf("%s: %s uses the variable %q, which is nowhere set%s", file, field, v,
					suggest.Hint(v[1:], known)))
			}
		}
	}
	checkQuery := func(field string, q *Query) {
		if q != nil {
			check(field, q.Text)
			check(field+".newest", q.Newest)
		}
	}
	check("probe", p.Probe)
	for m := range loadline.ServiceTable {
		checkQuery("service.metrics."+loadline.ServiceTable[m].Name, p.Service[m])
	}
	for m, q := range p.Calls {
		checkQuery("calls.metrics."+loadline.CallMetric(m).String(), q)
	}
	for m, q := range p.Pods {
		checkQuery("pods.metrics."+loadline.PodMetric(m).String(), q)
	}
	for m, q := range p.Nodes {
		checkQuery("nodes.metrics."+loadline.NodeMetric(m).String(), q)
	}
	checkQuery("service.buckets", p.Buckets)
	checkQuery("service.failed_buckets", p.FailedBuckets)
	checkQuery("calls.buckets", p.UserBuckets)
	checkQuery("calls.failed_buckets", p.FailedUserBuckets)
	return errors.Join(faults...)
}
