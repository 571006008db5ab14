package apps

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

// Encode writes an application as a model file that [Parse] reads back to the same application.
// With an origin, every figure is marked with it; further origins are only listed.
func Encode(app *loadline.App, origins ...Origin) ([]byte, error) {
	root, err := encode(app, origins)
	if err != nil {
		return nil, err
	}
	return write(app, root)
}

// encode makes the nodes of a model file, all under the first origin.
func encode(app *loadline.App, origins []Origin) (*yaml.Node, error) {
	if err := encodable(app); err != nil {
		return nil, fmt.Errorf("write the application %q: %w", app.Name, err)
	}
	root := mapping()
	put(root, "version", word("1"))
	put(root, "name", text(app.Name))
	if app.Description != "" {
		put(root, "description", text(app.Description))
	}
	tag := ""
	if len(origins) > 0 {
		tag = "!" + origins[0].Name
		list := mapping()
		for _, o := range origins {
			m := inline(mapping())
			put(m, "kind", word(string(o.Kind)))
			put(m, "source", text(o.Source))
			put(list, o.Name, m)
		}
		put(root, "origins", list)
	}
	if app.Routing != loadline.RouteRandom {
		put(root, "routing", word(routings[app.Routing]))
	}
	if app.KeepAlive != (loadline.KeepAlive{}) || app.Routing == loadline.RouteKeepAlive {
		put(root, "keepAlive", marked(encodeKeepAlive(app.KeepAlive), tag))
	}
	put(root, "nodes", marked(encodeNodes(app), tag))
	put(root, "services", marked(encodeServices(app), tag))
	put(root, "kinds", marked(encodeKinds(app), tag))
	return root, nil
}

func write(app *loadline.App, root *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write the application %q: %w", app.Name, err)
	}
	return b.Bytes(), nil
}

// Validate checks an application that was not read from a file by the rules of the file format:
// it is written and read back. Line numbers of faults refer to the output of [Encode].
func Validate(app *loadline.App) error {
	data, err := Encode(app)
	if err != nil {
		return err
	}
	_, err = Parse(app.Name, data)
	return err
}

// encodable reports what cannot be written: invalid indices.
func encodable(app *loadline.App) error {
	var errs []error
	if app.Routing < 0 || int(app.Routing) >= len(routings) {
		errs = append(errs, fmt.Errorf("routing %d is unknown", app.Routing))
	}
	for _, s := range app.Services {
		for _, d := range []loadline.Dist{s.CPU, s.Wait, s.Startup} {
			if d.Shape < 0 || int(d.Shape) >= len(shapes) {
				errs = append(errs, fmt.Errorf("service %s: shape %d is unknown", s.Name, d.Shape))
			}
		}
	}
	for _, k := range app.Kinds {
		if shape := k.Users.Think.Shape; shape < 0 || int(shape) >= len(shapes) {
			errs = append(errs, fmt.Errorf("kind %s: shape %d of the thinking time is unknown", k.Name, shape))
		}
	}
	var check func(kind string, caller int, c *loadline.Call)
	check = func(kind string, caller int, c *loadline.Call) {
		if c.Service < 0 || c.Service >= len(app.Services) {
			errs = append(errs, fmt.Errorf("kind %s: a call to service %d of %d", kind, c.Service, len(app.Services)))
			return
		}
		for _, v := range c.Versions {
			if caller < 0 || v < 0 || v >= len(app.Services[caller].Versions) {
				errs = append(errs, fmt.Errorf("kind %s: a call to %s by version %d, which its caller has not", kind,
					app.Services[c.Service].Name, v))
			}
		}
		for _, stage := range c.Stages {
			for i := range stage {
				check(kind, c.Service, &stage[i])
			}
		}
	}
	for k := range app.Kinds {
		check(app.Kinds[k].Name, -1, &app.Kinds[k].Root)
	}
	return errors.Join(errs...)
}

func encodeNodes(app *loadline.App) *yaml.Node {
	list := mapping()
	for _, n := range app.Nodes {
		m := inline(mapping())
		put(m, "cores", word(formatNumber(n.Cores)))
		put(m, "memory", word(formatMemory(n.Memory)))
		put(list, n.Name, m)
	}
	return list
}

func encodeServices(app *loadline.App) *yaml.Node {
	list := mapping()
	for i := range app.Services {
		s := &app.Services[i]
		m := mapping()
		put(m, "cpu", encodeDist(s.CPU))
		put(m, "wait", encodeDist(s.Wait))
		put(m, "idle", word(formatCores(s.IdleCPU)))
		put(m, "workers", count(s.Workers))
		put(m, "backlog", count(s.Backlog))
		if s.Hold != 0 {
			put(m, "hold", count(s.Hold))
		}
		put(m, "memory", pairs("base", formatMemory(s.Memory.Base), "perRequest", formatMemory(s.Memory.PerRequest)))
		put(m, "startup", encodeDist(s.Startup))
		if s.StartupCPU != 0 {
			put(m, "startupCPU", word(formatCores(s.StartupCPU)))
		}
		if s.Contention != 0 {
			put(m, "contention", word(formatNumber(s.Contention)))
		}
		put(m, "replicas", count(s.Replicas))
		put(m, "size", encodeSize(s.Size))
		bounds := inline(mapping())
		put(bounds, "replicas", spanOf(strconv.Itoa(s.Bounds.MinReplicas), strconv.Itoa(s.Bounds.MaxReplicas)))
		put(bounds, "cpu", spanOf(formatCores(s.Bounds.MinCPU), formatCores(s.Bounds.MaxCPU)))
		put(bounds, "memory", spanOf(formatMemory(s.Bounds.MinMemory), formatMemory(s.Bounds.MaxMemory)))
		put(m, "bounds", bounds)
		if len(s.Versions) > 0 {
			versions := mapping()
			for _, v := range s.Versions {
				put(versions, v.Name, pairs("weight", formatNumber(v.Weight), "cpu", formatNumber(v.CPU), "wait", formatNumber(v.Wait)))
			}
			put(m, "versions", versions)
		}
		put(m, "optionalPrice", word(formatNumber(s.OptionalPrice)))
		if s.RetryBudget != 0 {
			put(m, "retryBudget", word(formatNumber(s.RetryBudget)))
		}
		put(list, s.Name, m)
	}
	return list
}

func encodeDist(d loadline.Dist) *yaml.Node {
	if d == (loadline.Dist{}) {
		return pairs("mean", "0s", "cv", "0")
	}
	if d.Shape == loadline.Exponential {
		return pairs("mean", formatDuration(d.Mean), "shape", shapes[d.Shape])
	}
	return pairs("mean", formatDuration(d.Mean), "cv", formatNumber(d.CV))
}

func encodeSize(s loadline.Size) *yaml.Node {
	cpu, memory := pairs("request", formatCores(s.CPURequest)), pairs("request", formatMemory(s.MemoryRequest))
	if s.CPULimit != 0 {
		put(cpu, "limit", word(formatCores(s.CPULimit)))
	}
	if s.MemoryLimit != 0 {
		put(memory, "limit", word(formatMemory(s.MemoryLimit)))
	}
	m := mapping()
	put(m, "cpu", cpu)
	put(m, "memory", memory)
	return m
}

func encodeKinds(app *loadline.App) *yaml.Node {
	list := mapping()
	for i := range app.Kinds {
		k := &app.Kinds[i]
		m := mapping()
		put(m, "share", word(formatNumber(k.Share)))
		put(m, "slo", pairs("percentile", formatNumber(k.SLO.Percentile), "latency", formatDuration(k.SLO.Latency)))
		if k.Timeout != 0 {
			put(m, "timeout", word(formatDuration(k.Timeout)))
		}
		if k.Retries != (loadline.Retries{}) {
			put(m, "retries", encodeRetries(k.Retries))
		}
		if k.RetryBudget != 0 {
			put(m, "retryBudget", word(formatNumber(k.RetryBudget)))
		}
		if k.Users != (loadline.Users{}) {
			put(m, "users", encodeUsers(k.Users))
		}
		put(m, "call", encodeCall(app, &k.Root, -1))
		put(list, k.Name, m)
	}
	return list
}

func encodeCall(app *loadline.App, c *loadline.Call, caller int) *yaml.Node {
	name := app.Services[c.Service].Name
	m := mapping()
	put(m, "service", text(name))
	if c.Probability != 1 {
		put(m, "probability", word(formatNumber(c.Probability)))
	}
	if c.Times != 1 {
		put(m, "times", count(c.Times))
	}
	if c.Work != 1 {
		put(m, "work", word(formatNumber(c.Work)))
	}
	if c.Optional {
		put(m, "optional", word("true"))
	}
	if len(c.Versions) > 0 {
		versions := inline(&yaml.Node{Kind: yaml.SequenceNode})
		for _, v := range c.Versions {
			versions.Content = append(versions.Content, text(app.Services[caller].Versions[v].Name))
		}
		put(m, "versions", versions)
	}
	if c.Timeout != 0 {
		put(m, "timeout", word(formatDuration(c.Timeout)))
	}
	if c.Retries != (loadline.Retries{}) {
		put(m, "retries", encodeRetries(c.Retries))
	}
	if len(c.Stages) == 0 {
		if len(m.Content) == 2 {
			return text(name)
		}
		return inline(m)
	}
	stages := &yaml.Node{Kind: yaml.SequenceNode}
	for _, stage := range c.Stages {
		if len(stage) == 1 {
			stages.Content = append(stages.Content, encodeCall(app, &stage[0], c.Service))
			continue
		}
		parallel := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range stage {
			parallel.Content = append(parallel.Content, encodeCall(app, &stage[i], c.Service))
		}
		stages.Content = append(stages.Content, parallel)
	}
	put(m, "stages", stages)
	return m
}
