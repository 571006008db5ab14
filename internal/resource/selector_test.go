package resource_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

const selecting = `
objectives: [{kind: buy, latency: 250ms, service: web}]
prometheus: {url: http://prometheus}
policy: {baseline: "hpa:target=60"}
selector: {matchLabels: {app: shop}, except: [db]}
template: {axes: [Horizontal], bounds: {replicas: {min: 2, max: 9}}, floor: {replicas: 3}}
`

func workload(kind, name string, annotations ...string) resource.Workload {
	w := resource.Workload{APIVersion: "apps/v1", Kind: kind, Name: name, Labels: map[string]string{"app": "shop", "x": "y"}}
	if len(annotations) > 0 {
		w.Annotations = map[string]string{v1alpha1.ServiceAnnotation: annotations[0]}
	}
	return w
}

func names(l *v1alpha1.LoadLine) string {
	var all []string
	for i := range l.Spec.Services {
		s := &l.Spec.Services[i]
		all = append(all, fmt.Sprintf("%s=%s/%s", s.Name, s.TargetRef.Kind, s.TargetRef.Name))
	}
	return strings.Join(all, " ")
}

func TestSelectorFindsServices(t *testing.T) {
	l := read(t, selecting)
	other := workload("Deployment", "other")
	other.Labels = map[string]string{"app": "shops"}
	all := []resource.Workload{workload("StatefulSet", "queue"), other, workload("Deployment", "web"), workload("Deployment", "db"),
		workload("Deployment", "front-v2", "front"), {APIVersion: "apps/v1", Kind: "Deployment", Name: "plain"}}
	full := resource.Complete(l, all)
	if got, want := names(full), "front=Deployment/front-v2 queue=StatefulSet/queue web=Deployment/web"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if len(l.Spec.Services) != 0 {
		t.Errorf("the LoadLine itself has %s now", names(l))
	}
	shuffled := resource.Complete(l, []resource.Workload{all[4], all[2], all[0]})
	for _, again := range []*v1alpha1.LoadLine{resource.Complete(full, all), shuffled} {
		if !reflect.DeepEqual(again.Spec.Services, full.Spec.Services) {
			t.Errorf("another order or a second time: %s", names(again))
		}
	}
	a, err := resource.Read(full, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := a.App.Services[0].Bounds; b != (loadline.Bounds{MinReplicas: 2, MaxReplicas: 9}) || a.Guard.Floor["web"].Replicas != 3 {
		t.Errorf("bounds %+v, floors %+v", b, a.Guard.Floor)
	}
	// The kind enters where its objective says, whatever is found.
	if entry := a.App.Services[a.App.Kinds[0].Root.Service].Name; entry != "web" {
		t.Errorf("requests arrive at %s", entry)
	}
	// What a service names has its bounds and its name, and comes first.
	l.Spec.Services = []v1alpha1.Service{{Name: "shop-front", TargetRef: v1alpha1.TargetRef{Name: "front-v2"},
		Bounds: v1alpha1.Bounds{Replicas: v1alpha1.ReplicaBounds{Max: 40}}}}
	full = resource.Complete(l, all)
	if got, want := names(full), "shop-front=/front-v2 queue=StatefulSet/queue web=Deployment/web"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

func TestSelectorsThatCannotBeFollowed(t *testing.T) {
	many := make([]resource.Workload, 201)
	for i := range many {
		many[i] = workload("Deployment", fmt.Sprint("web", i))
	}
	for _, row := range []struct {
		name, text string
		found      []resource.Workload
		want       string
	}{
		{"nothing is found", selecting, nil, "spec.selector: no Deployment or StatefulSet of namespace ns has these labels"},
		{"two have one name", selecting, []resource.Workload{workload("Deployment", "web"), workload("StatefulSet", "web")},
			`spec.selector: it finds StatefulSet web, and service "web" is Deployment web already: set the annotation loadline.dev/service`},
		{"no first service", strings.Replace(selecting, ", service: web", "", 1), []resource.Workload{workload("Deployment", "web")},
			"spec.objectives[0].service: is required with a selector and without services, of which none is the first"},
		{"more than a LoadLine can have", selecting, many, "spec.selector: there are 201 services with those that it finds, at most 200"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := resource.Read(resource.Complete(read(t, row.text), row.found), nil)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
}

// TestSelectedThatTheTwinLacks: a new workload does not end the scaling of those that the twin has.
func TestSelectedThatTheTwinLacks(t *testing.T) {
	twin := chain()
	known := twin.Services[0].Name
	text := strings.Replace(selecting, "[{kind: buy, latency: 250ms, service: web}]", "[{latency: 250ms}]", 1)
	full := resource.Complete(read(t, text), []resource.Workload{workload("Deployment", "fresh"), workload("Deployment", known)})
	a, err := resource.Read(full, twin)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.LeftOut, []string{"fresh"}) || a.Targets[0] == nil || a.App.ServiceIndex("fresh") >= 0 {
		t.Errorf("left out %q, targets %v", a.LeftOut, a.Targets)
	}
	full.Spec.Services[0].Selected = false // a person has written the name
	if _, err := resource.Read(full, twin); err == nil || !strings.Contains(err.Error(), `the twin has no service "fresh"`) {
		t.Error(err)
	}
}
