package realapp

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// Object of Kubernetes, as JSON has it.
type Object = map[string]any

// ObjectsSettings say how an application is deployed.
type ObjectsSettings struct {
	Namespace string
	Image     string
	Node      string // that pods run on; "" = any
	Seed      uint64
	// Hosts are addresses of services, by name, for the pods' hosts files: of a cluster without DNS.
	Hosts map[string]string
}

var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Objects are what runs an application in a cluster: a ConfigMap with its model, and a Deployment
// and a Service for each of its services.
func Objects(app *loadline.App, s ObjectsSettings) ([]Object, error) {
	for i := range app.Services {
		if name := app.Services[i].Name; !dnsLabel.MatchString(name) {
			return nil, fmt.Errorf("service %q of %s cannot be a name in Kubernetes: use lower-case letters, digits and hyphens", name, app.Name)
		}
	}
	model, err := apps.Encode(app)
	if err != nil {
		return nil, err
	}
	name := app.Name + "-model"
	if !dnsLabel.MatchString(name) {
		return nil, fmt.Errorf("%q cannot be a name in Kubernetes: rename the application with lower-case letters, digits and hyphens", app.Name)
	}
	all := []Object{{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(s, name, nil),
		"data": Object{"app.yaml": string(model)},
	}}
	for i := range app.Services {
		all = append(all, deployment(app, i, name, s), service(app.Services[i].Name, s))
	}
	return all, nil
}

func meta(s ObjectsSettings, name string, labels Object) Object {
	m := Object{"name": name}
	if s.Namespace != "" {
		m["namespace"] = s.Namespace
	}
	if labels != nil {
		m["labels"] = labels
	}
	return m
}

func service(name string, s ObjectsSettings) Object {
	return Object{
		"apiVersion": "v1", "kind": "Service", "metadata": meta(s, name, Object{"app": name}),
		"spec": Object{"selector": Object{"app": name}, "ports": []any{Object{"name": "http", "port": Port, "targetPort": Port}}},
	}
}

func deployment(app *loadline.App, i int, model string, s ObjectsSettings) Object {
	of := &app.Services[i]
	labels := Object{"app": of.Name}
	pod := Object{
		"automountServiceAccountToken": false, "enableServiceLinks": false,
		"containers": []any{Object{
			"name": "app", "image": s.Image, "imagePullPolicy": "Never",
			"args":  []any{"--app", "/model/app.yaml", "--service", of.Name, "--seed", strconv.FormatUint(s.Seed, 10)},
			"ports": []any{Object{"name": "http", "containerPort": Port}},
			// A replica that starts is asked often, so that the probe adds little to its start.
			"readinessProbe": Object{"httpGet": Object{"path": "/ready", "port": Port}, "periodSeconds": 1},
			"resources":      resources(of.Size),
			"resizePolicy": []any{
				Object{"resourceName": "cpu", "restartPolicy": "NotRequired"}, Object{"resourceName": "memory", "restartPolicy": "NotRequired"},
			},
			"volumeMounts": []any{Object{"name": "model", "mountPath": "/model", "readOnly": true}},
		}},
		"volumes": []any{Object{"name": "model", "configMap": Object{"name": model}}},
	}
	if s.Node != "" {
		pod["nodeName"] = s.Node
	}
	if len(s.Hosts) > 0 {
		pod["hostAliases"] = hostAliases(s.Hosts)
	}
	return Object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(s, of.Name, labels),
		"spec": Object{
			"replicas": max(of.Replicas, of.Bounds.MinReplicas), "selector": Object{"matchLabels": labels},
			"template": Object{
				"metadata": Object{"labels": labels, "annotations": Object{
					"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(Port), "prometheus.io/path": "/metrics",
				}},
				"spec": pod,
			},
		},
	}
}

func hostAliases(hosts map[string]string) []any {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		all = append(all, Object{"ip": hosts[name], "hostnames": []any{name}})
	}
	return all
}

func resources(size loadline.Size) Object {
	of := func(cpu float64, memory int64) Object {
		all := Object{}
		if cpu > 0 {
			all["cpu"] = fmt.Sprintf("%dm", int(math.Round(1000*cpu)))
		}
		if memory > 0 {
			all["memory"] = strconv.FormatInt(memory, 10)
		}
		return all
	}
	return Object{"requests": of(size.CPURequest, size.MemoryRequest), "limits": of(size.CPULimit, size.MemoryLimit)}
}
