package knative

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/loadline/loadline"
)

// configEvery is how often Knative's ConfigMaps are read.
const configEvery = 10 * time.Second

// configOf is Knative's configuration. While it cannot be read, it is as it was.
func (c *Controller) configOf(ctx context.Context) Config {
	c.mu.Lock()
	fresh := !c.configAt.IsZero() && c.Now().Sub(c.configAt) < configEvery
	config := c.config
	if c.configAt.IsZero() {
		config = DefaultConfig()
	}
	c.mu.Unlock()
	if fresh {
		return config
	}
	var data [2]map[string]string
	for i, name := range []string{"config-autoscaler", "config-deployment"} {
		var m corev1.ConfigMap
		err := c.Live.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, &m)
		if err != nil && !apierrors.IsNotFound(err) {
			c.Log.Warn("Knative's configuration is not read; it stays as it was", "configMap", c.Namespace+"/"+name, "error", err)
			return config
		}
		data[i] = m.Data
	}
	read, err := ParseConfig(data[0], data[1])
	if err != nil {
		c.Log.Warn("Knative's configuration has faults; those settings have their defaults", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config, c.configAt = read, c.Now()
	return read
}

// track passes on what a reconciliation saw, and returns what is wanted.
func (c *Controller) track(name types.NamespacedName, s Seen, from source, ready []string) loadline.Opt[Wanted] {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tracked[name]
	if t == nil {
		t = &tracked{name: name}
		c.tracked[name] = t
	}
	t.settings, t.source, t.replicas, t.ready = s.Settings, from, s.Replicas, ready
	if t.wanted == nil {
		return loadline.Opt[Wanted]{}
	}
	return loadline.Some(*t.wanted)
}

// Start measures every second and decides every other one, until the context ends. It runs in the
// process that holds the lease only.
func (c *Controller) Start(ctx context.Context) error {
	ticker := time.NewTicker(second)
	defer ticker.Stop()
	for seconds := 0; ; seconds++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		c.measure(ctx)
		if seconds%2 == 1 {
			c.decideAll()
		}
	}
}

// NeedLeaderElection implements controller-runtime's interface.
func (c *Controller) NeedLeaderElection() bool { return true }

// measure reads the activators and the pods of all revisions.
func (c *Controller) measure(ctx context.Context) {
	all := c.Scraper.Activators(ctx)
	c.report(all.Err)
	type part struct {
		name     types.NamespacedName
		metric   string
		from, to int // of the addresses
	}
	var parts []part
	var addresses []string
	c.mu.Lock()
	for name, t := range c.tracked {
		p := part{name: name, metric: t.settings.Metric, from: len(addresses)}
		addresses = append(addresses, t.ready...)
		p.to = len(addresses)
		parts = append(parts, p)
	}
	c.mu.Unlock()
	stats := c.Scraper.pods(ctx, addresses)
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range parts {
		t := c.tracked[p.name]
		if t == nil {
			continue
		}
		var answers []Stat
		for _, s := range stats[p.from:p.to] {
			if s != nil {
				answers = append(answers, *s)
			}
		}
		t.loads = append(t.loads, loadOf(p.metric, now, p.to-p.from, answers, all, Revision{p.name.Namespace, p.name.Name}))
	}
}

// report once why activators are not read, and once that they are again.
func (c *Controller) report(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	c.mu.Lock()
	was := c.blindness
	c.blindness = why
	c.mu.Unlock()
	switch {
	case why == "" && was != "":
		c.Log.Info("activators are read again")
	case why != "" && was == "":
		c.Log.Warn("activators are not read: no revision is scaled to zero", "error", err, "remedy",
			"set metrics-protocol: prometheus in the ConfigMap config-observability of Knative Serving, see docs/knative.md")
	}
}

// decideAll decides for all revisions, and has those reconciled for which something changed.
func (c *Controller) decideAll() {
	c.mu.Lock()
	var all []*tracked
	for _, t := range c.tracked {
		all = append(all, t)
	}
	c.mu.Unlock()
	now := c.Now()
	for _, t := range all {
		if c.decideOne(now, t) {
			o := &unstructured.Unstructured{}
			o.SetNamespace(t.name.Namespace)
			o.SetName(t.name.Name)
			select {
			case c.poked <- event.GenericEvent{Object: o}:
			default: // the next tick finds the same
			}
		}
	}
}

// decideOne reports whether the outcome may have changed.
func (c *Controller) decideOne(now time.Time, t *tracked) bool {
	c.mu.Lock()
	settings, from, replicas, loads := t.settings, t.source, t.replicas, t.loads
	t.loads = nil
	was := t.wanted
	c.mu.Unlock()
	if t.rule == nil || t.made != settings {
		rule, err := NewRule(t.name.Name, settings)
		if err != nil {
			c.Log.Warn("a revision is not scaled", "namespace", t.name.Namespace, "revision", t.name.Name, "error", err)
			return false
		}
		t.rule, t.made = rule, settings
	}
	var wanted *Wanted
	w, err := t.rule.Decide(now, replicas, loads)
	if err == nil {
		wanted = &w
	} else if !errors.Is(err, loadline.ErrNoData) {
		c.Log.Warn("the rule of a revision failed", "namespace", t.name.Namespace, "revision", t.name.Name, "error", err)
	}
	if from != (source{}) && c.Decisions != nil {
		wanted = t.byLoadLine(c.Decisions, now, from, wanted)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.wanted = wanted
	return differs(was, wanted, settings, int32(len(t.ready)))
}

// byLoadLine is what the LoadLine wants, and the rule as long as it has no decision. A request
// that is waiting for the first pod is not left to the LoadLine's next pass.
func (t *tracked) byLoadLine(d Decisions, now time.Time, from source, rule *Wanted) *Wanted {
	t.delay.window = t.made.Delay
	n, err := d.Replicas(from.loadline, from.service, now)
	if err != nil {
		if rule != nil {
			rule.Why += fmt.Sprintf("; %s has no decision: %v", from, err)
		}
		return rule
	}
	w := &Wanted{Replicas: t.delay.of(now, int32(n)), Why: from.String()}
	if rule != nil {
		w.Load = rule.Load
		if n == 0 && rule.Load.Set && rule.Load.Value > 0 {
			w.Replicas, w.Why = max(w.Replicas, 1), w.Why+"; a request is waiting"
		}
	}
	return w
}

// differs reports whether two numbers, or the sides of the burst capacity that they are on, differ.
func differs(was, is *Wanted, s Settings, ready int32) bool {
	if (was == nil) != (is == nil) {
		return true
	}
	if is == nil {
		return false
	}
	spare := func(w *Wanted) bool {
		seen := Seen{Settings: s, Ready: ready, Wanted: loadline.Some(*w)}
		return seen.spare() >= 0
	}
	return was.Replicas != is.Replicas || spare(was) != spare(is)
}
