package apps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

// Model is an application with the provenance of its figures.
type Model struct {
	App     *loadline.App
	Origins []Origin // in the order of the file
	Figures []Figure // every number, shared sub-trees once
}

// Parse reads a model. The error joins every [Fault] of the file.
func Parse(file string, data []byte) (*Model, error) {
	r := &reader{file: file}
	root := r.document(data)
	if root == nil {
		return nil, joinFaults(r.faults)
	}
	app := r.app(root)
	if len(r.faults) > 0 {
		return nil, joinFaults(r.faults)
	}
	return &Model{App: app, Origins: r.origins, Figures: r.figures}, nil
}

// document returns the one YAML document of the file.
func (r *reader) document(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || at{Node: doc.Content[0]}.null()) {
		r.fault(0, "", "", "a model of an application: it is empty (\"loadline apps show single\" is one to start from)")
		return nil
	}
	if err != nil {
		r.fault(yamlErrorLine(err), "", err.Error(), "YAML")
		return nil
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		r.fault(second.Line, "", "more than one document", "one YAML document, one application")
	}
	return doc.Content[0]
}

var lineOfYAMLError = regexp.MustCompile(`line (\d+)`)

func yamlErrorLine(err error) int {
	if m := lineOfYAMLError.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func (r *reader) app(root *yaml.Node) *loadline.App {
	// Tags name origins, so these must be read first.
	r.originsOf(root)
	top := r.object(r.enter(root, "", ""), "a mapping with the fields version, name, nodes, services, kinds",
		"version", "name", "description", "origins", "routing", "keepAlive", "nodes", "calls", "services", "kinds")
	if a, ok := top.need("version", "1"); ok && a.text() != "1" {
		r.fault(a.Line, a.path, a.text(), "1, the version of the format that this program reads")
	}
	app := &loadline.App{Name: top.words("name"), Description: top.words("description")}
	if app.Name == "" {
		top.need("name", "the application's name")
	}
	app.Routing = loadline.Routing(top.choice("routing", routings...))
	app.KeepAlive = r.keepAlive(top, app.Routing)
	app.Nodes = r.nodes(top)
	app.Services = r.services(top)
	trees := r.callTrees(top, app)
	app.Kinds = r.kinds(top, trees)
	r.checkPlacement(top, app)
	return app
}

var routings = []string{loadline.RouteRandom: "random", loadline.RouteLeastRequest: "least-request",
	loadline.RouteKeepAlive: "keep-alive"}

func (r *reader) originsOf(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "origins" {
			continue
		}
		for _, e := range r.entries(r.enter(root.Content[i+1], "origins", ""), "a mapping from names to {kind, source}") {
			o := r.object(e.at, "a mapping {kind, source}", "kind", "source")
			kinds := []string{string(Assumed), string(Documented), string(Measured)}
			o.need("kind", "one of measured, documented, assumed")
			if o.need("source", "where the figures come from, in words"); o.has("source") && o.words("source") == "" {
				r.fault(e.line, o.path("source"), `""`, "where the figures come from, in words")
			}
			r.origins = append(r.origins, Origin{Name: e.key, Kind: Provenance(kinds[o.choice("kind", kinds...)]),
				Source: o.words("source")})
		}
		return
	}
}

func (r *reader) nodes(top object) []loadline.Node {
	const want = "a mapping from names to {count, cores, memory}, at least one"
	a, ok := top.need("nodes", want)
	if !ok {
		return nil
	}
	list := r.entries(a, want)
	if a.Kind == yaml.MappingNode && len(a.Content) == 0 {
		r.fault(a.Line, a.path, "{}", want)
	}
	var nodes []loadline.Node
	names := map[string]int{}
	for _, e := range list {
		o := r.object(e.at, "a mapping {count, cores, memory}", "count", "cores", "memory")
		count := orNone(o, "count", countRule(1, maxNodes), 1)
		node := loadline.Node{Cores: need(o, "cores", positiveCores), Memory: need(o, "memory", positiveMemory)}
		if len(nodes)+count > maxNodes {
			r.fault(e.line, e.path, e.key, fmt.Sprintf("among at most %d nodes in all", maxNodes))
			return nodes
		}
		for i := range count {
			node.Name = e.key
			if count > 1 {
				node.Name = fmt.Sprintf("%s-%d", e.key, i+1)
			}
			// "a-2" may be written beside {a: {count: 2}}.
			if first, twice := names[node.Name]; twice {
				r.fault(e.line, e.path, node.Name, fmt.Sprintf("unique: line %d makes a node of that name already", first))
				break
			}
			names[node.Name] = e.line
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (r *reader) kinds(top object, trees *callTrees) []loadline.Kind {
	const want = "a mapping from names to kinds of requests, at least one"
	a, ok := top.need("kinds", want)
	if !ok {
		return nil
	}
	list := r.entries(a, want)
	if a.Kind == yaml.MappingNode && len(a.Content) == 0 {
		r.fault(a.Line, a.path, "{}", want)
	}
	var kinds []loadline.Kind
	for _, e := range list {
		o := r.object(e.at, "a mapping {share, slo, timeout, retries, retryBudget, users, call}",
			"share", "slo", "timeout", "retries", "retryBudget", "users", "call")
		k := loadline.Kind{Name: e.key, Share: orDefault(o, "share", positive, 1)}
		const sloWant = "a mapping {percentile, latency}"
		if slo, ok := o.need("slo", sloWant); ok {
			s := r.object(slo, sloWant, "percentile", "latency")
			k.SLO = loadline.SLO{Percentile: need(s, "percentile", percentile), Latency: need(s, "latency", positiveDuration)}
		}
		k.Timeout = orNone(o, "timeout", positiveDuration, 0)
		k.Retries = r.retries(o)
		k.RetryBudget = orNone(o, "retryBudget", share, 0)
		k.Users = r.users(o)
		if call, ok := o.need("call", callWant); ok {
			k.Root = trees.root(call)
		}
		kinds = append(kinds, k)
	}
	return kinds
}
