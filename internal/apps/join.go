package apps

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
)

// tenantSeparator is between the name of a tenant and those of its services, kinds and nodes, as
// between a namespace and a name.
const tenantSeparator = "/"

// Joined is an application under the name that it has on a cluster with others.
type Joined struct {
	Name string
	App  *loadline.App
}

// Join makes one application of several that share a cluster: services, kinds of requests and nodes
// of all, named TENANT/NAME, each with its own objectives. Split is the inverse. The reasons are in
// docs/adr/0044-applications-of-one-cluster-are-one-model.md.
func Join(all []Joined) (*loadline.App, error) {
	if err := checkJoined(all); err != nil {
		return nil, err
	}
	joined := &loadline.App{Routing: all[0].App.Routing, KeepAlive: all[0].App.KeepAlive}
	var names []string
	for _, j := range all {
		own := j.App
		prefix := j.Name + tenantSeparator
		first := len(joined.Services)
		for _, s := range own.Services {
			s.Name = prefix + s.Name
			joined.Services = append(joined.Services, s)
		}
		share := 0.0
		for _, k := range own.Kinds {
			share += k.Share
		}
		for _, k := range own.Kinds {
			k.Name, k.Share, k.Root = prefix+k.Name, k.Share/share, movedCall(k.Root, first)
			joined.Kinds = append(joined.Kinds, k)
		}
		for _, n := range own.Nodes {
			n.Name = prefix + n.Name
			joined.Nodes = append(joined.Nodes, n)
		}
		joined.Tenants = append(joined.Tenants, loadline.Tenant{Name: j.Name, Services: len(own.Services), Kinds: len(own.Kinds)})
		name := own.Name
		if j.Name != own.Name {
			name = j.Name + " (" + own.Name + ")"
		}
		names = append(names, name)
	}
	joined.Name = strings.Join(names, " + ")
	return joined, nil
}

// checkJoined reports every reason why applications cannot share a simulated cluster.
func checkJoined(all []Joined) error {
	if len(all) == 0 {
		return errors.New("join applications: there is none")
	}
	var faults []error
	for i, j := range all {
		if j.Name == "" || strings.ContainsAny(j.Name, "/=,:;()|+ ") {
			faults = append(faults, fmt.Errorf("application name %q: must be a word without / = , : ; ( ) | + and spaces", j.Name))
		}
		if slices.ContainsFunc(all[:i], func(other Joined) bool { return other.Name == j.Name }) {
			faults = append(faults, fmt.Errorf("two applications are named %q: give one another name, as in NAME=%s", j.Name, j.App.Name))
		}
		if len(j.App.Tenants) > 0 {
			faults = append(faults, fmt.Errorf("application %s is already several: join all of them at once", j.Name))
		}
		if j.App.Routing != all[0].App.Routing || j.App.KeepAlive != all[0].App.KeepAlive {
			faults = append(faults, fmt.Errorf("application %s has routing %s and %s has %s: must be the same in one simulated cluster",
				all[0].Name, routings[all[0].App.Routing], j.Name, routings[j.App.Routing]))
		}
	}
	return errors.Join(faults...)
}

// Split are the applications that are joined in one, as they were before but for the nodes, which
// are those of all, and the shares of their kinds, which sum to 1. A single application is the only
// one.
func Split(app *loadline.App) []*loadline.App {
	if len(app.Tenants) == 0 {
		return []*loadline.App{app}
	}
	var all []*loadline.App
	for _, t := range app.TenantRanges() {
		own := &loadline.App{
			Name: t.Name, Routing: app.Routing, KeepAlive: app.KeepAlive, Nodes: app.Nodes,
			Services: slices.Clone(app.Services[t.FirstService : t.FirstService+t.Services]),
			Kinds:    slices.Clone(app.Kinds[t.FirstKind : t.FirstKind+t.Kinds]),
		}
		prefix := t.Name + tenantSeparator
		for i := range own.Services {
			own.Services[i].Name = strings.TrimPrefix(own.Services[i].Name, prefix)
		}
		for i := range own.Kinds {
			k := &own.Kinds[i]
			k.Name, k.Root = strings.TrimPrefix(k.Name, prefix), movedCall(k.Root, -t.FirstService)
		}
		all = append(all, own)
	}
	return all
}

// movedCall is a call tree whose services have other places in the application.
func movedCall(c loadline.Call, by int) loadline.Call {
	c.Service += by
	stages := make([][]loadline.Call, len(c.Stages))
	for i, stage := range c.Stages {
		for _, child := range stage {
			stages[i] = append(stages[i], movedCall(child, by))
		}
	}
	if c.Stages != nil {
		c.Stages = stages
	}
	return c
}
