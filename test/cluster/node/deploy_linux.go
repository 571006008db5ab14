package node

import (
	"encoding/json"
	"net"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/lab/realapp"
)

// Deployed is an application of real pods.
type Deployed struct {
	node      *Node
	Namespace string
	App       *loadline.App
	Addresses map[string]string // of its Services, by name, without the port
}

// Deploy makes the objects of an application model and waits until all pods are ready. There is no
// DNS: the Services come first, and pods find their addresses in their hosts files.
func (n *Node) Deploy(t testing.TB, namespace string, app *loadline.App) *Deployed {
	t.Helper()
	d := &Deployed{node: n, Namespace: namespace, App: app, Addresses: map[string]string{}}
	settings := realapp.ObjectsSettings{Namespace: namespace, Image: AppImage, Seed: 1}
	for _, kind := range []string{"Service", "ConfigMap", "Deployment"} {
		objects, err := realapp.Objects(app, settings)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o["kind"] != kind {
				continue
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			n.ApplyYAML(t, namespace, string(text))
		}
		if kind == "Service" {
			d.findAddresses(t)
			settings.Hosts = d.Addresses
		}
	}
	for i := range app.Services {
		n.WaitReady(t, namespace, app.Services[i].Name, -1)
	}
	return d
}

func (d *Deployed) findAddresses(t testing.TB) {
	t.Helper()
	for i := range d.App.Services {
		var s corev1.Service
		name := types.NamespacedName{Namespace: d.Namespace, Name: d.App.Services[i].Name}
		if err := d.node.admin.Get(t.Context(), name, &s); err != nil {
			t.Fatal(err)
		}
		d.Addresses[name.Name] = s.Spec.ClusterIP
	}
}

// Entry is the address of a service, host:port.
func (d *Deployed) Entry(service string) string {
	return net.JoinHostPort(d.Addresses[service], strconv.Itoa(realapp.Port))
}
