package apps

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

// How callers behave: connections, retries, users who wait for their replies.

const (
	defaultConnections     = 10
	defaultUserConnections = 100
	defaultLifetime        = 5 * time.Minute
	defaultBackoff         = 25 * time.Millisecond // Envoy's base interval
	maxConnections         = 10_000
	maxUserRequests        = 10_000
)

// keepAlive reads the settings of connections, which only the routing keep-alive has.
func (r *reader) keepAlive(top object, routing loadline.Routing) loadline.KeepAlive {
	a, ok := top.fields["keepAlive"]
	if routing != loadline.RouteKeepAlive {
		if ok {
			r.fault(a.Line, a.path, a.text(), "left out, unless the routing is keep-alive")
		}
		return loadline.KeepAlive{}
	}
	o := object{r: r, at: at{path: "keepAlive"}, fields: map[string]at{}}
	if ok {
		o = r.object(a, "a mapping {connections, users, lifetime}", "connections", "users", "lifetime")
	}
	return loadline.KeepAlive{
		Connections: orDefault(o, "connections", countRule(1, maxConnections), defaultConnections),
		Users:       orDefault(o, "users", countRule(1, maxConnections), defaultUserConnections),
		Lifetime:    orDefault(o, "lifetime", anyDuration, defaultLifetime),
	}
}

// retries reads the retries of a call or a kind.
func (r *reader) retries(o object) loadline.Retries {
	a, ok := o.fields["retries"]
	if !ok {
		return loadline.Retries{}
	}
	ro := r.object(a, "a mapping {attempts, backoff}", "attempts", "backoff")
	return loadline.Retries{
		Attempts: need(ro, "attempts", countRule(1, maxTries)),
		Backoff:  orDefault(ro, "backoff", anyDuration, defaultBackoff),
	}
}

// users reads the closed loop of a kind.
func (r *reader) users(o object) loadline.Users {
	a, ok := o.fields["users"]
	if !ok {
		return loadline.Users{}
	}
	uo := r.object(a, "a mapping {requests, think, patience, leave}", "requests", "think", "patience", "leave")
	return loadline.Users{
		Requests: need(uo, "requests", countRule(2, maxUserRequests)),
		Think:    r.dist(uo, "think", positiveDuration, 1),
		Patience: need(uo, "patience", positiveDuration),
		Leave:    need(uo, "leave", probability),
	}
}

func encodeKeepAlive(k loadline.KeepAlive) *yaml.Node {
	m := inline(mapping())
	put(m, "connections", count(k.Connections))
	put(m, "users", count(k.Users))
	put(m, "lifetime", word(formatDuration(k.Lifetime)))
	return m
}

func encodeRetries(r loadline.Retries) *yaml.Node {
	m := inline(mapping())
	put(m, "attempts", count(r.Attempts))
	put(m, "backoff", word(formatDuration(r.Backoff)))
	return m
}

func encodeUsers(u loadline.Users) *yaml.Node {
	m := inline(mapping())
	put(m, "requests", count(u.Requests))
	put(m, "think", encodeDist(u.Think))
	put(m, "patience", word(formatDuration(u.Patience)))
	put(m, "leave", word(formatNumber(u.Leave)))
	return m
}

// clientNotes describes the users of a kind in its line of the tree.
func clientNotes(k *loadline.Kind) string {
	text := ""
	if k.Retries.Attempts > 0 {
		text += ", " + retriesNote(k.Retries)
	}
	if u := k.Users; u.Requests > 0 {
		text += fmt.Sprintf(", users send %d requests %v apart and leave with probability %g after %v", u.Requests, u.Think.Mean, u.Leave,
			u.Patience)
	}
	return text
}

func retriesNote(r loadline.Retries) string {
	if r.Attempts == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", r.Attempts)
}

// clientWarnings are about callers whose settings cannot work as intended.
func clientWarnings(app *loadline.App) []string {
	var list []string
	retries := make([]bool, len(app.Services)) // has calls with retries
	for k := range app.Kinds {
		kind := &app.Kinds[k]
		if kind.RetryBudget > 0 && kind.Retries.Attempts == 0 {
			list = append(list, fmt.Sprintf("kind %s has a retry budget and no retries", kind.Name))
		}
		walkVisits(app, &kind.Root, -1, 1, func(c *loadline.Call, caller int, _ float64) {
			if caller >= 0 && c.Retries.Attempts > 0 {
				retries[caller] = true
			}
			if c.Timeout == 0 {
				return
			}
			once := *c
			once.Probability, once.Times, once.Versions = 1, 1, nil
			if takes := unloaded(app, &once, caller).Round(time.Microsecond); takes >= c.Timeout {
				list = append(list, fmt.Sprintf("kind %s: calls to %s are given up after %v; unloaded they take %v on average", kind.Name,
					app.Services[c.Service].Name, c.Timeout, takes))
			}
		})
	}
	for i := range app.Services {
		if app.Services[i].RetryBudget > 0 && !retries[i] {
			list = append(list, fmt.Sprintf("service %s has a retry budget, and none of its calls has retries", app.Services[i].Name))
		}
	}
	return list
}
