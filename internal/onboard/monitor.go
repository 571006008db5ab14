package onboard

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loadline/loadline/internal/advice"
)

// monitor has the field of a ServiceMonitor or PodMonitor that matters here.
type monitor struct {
	Spec struct {
		Selector metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
}

// scrapedBy names the monitor that has a workload's pods scraped; "" = none of the namespace's own.
func (p *proposing) scrapedBy(w *advice.Workload) string {
	var d appsv1.Deployment // a StatefulSet has this field too
	if w.Object.Into(&d) != nil {
		return ""
	}
	pods := labels.Set(d.Spec.Template.Labels)
	for i := range p.seen.Monitors {
		o := &p.seen.Monitors[i]
		var m monitor
		if o.Into(&m) != nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
		if err != nil {
			continue
		}
		if o.Kind == "PodMonitor" && selector.Matches(pods) || o.Kind == "ServiceMonitor" && p.selected(selector, pods) {
			return o.Kind + " " + o.Name
		}
	}
	return ""
}

// selected reports whether a Service that a ServiceMonitor selects has these pods.
func (p *proposing) selected(by labels.Selector, pods labels.Set) bool {
	for i := range p.seen.Monitors {
		o := &p.seen.Monitors[i]
		var s corev1.Service
		if o.Kind != "Service" || !by.Matches(labels.Set(o.Labels)) || o.Into(&s) != nil || len(s.Spec.Selector) == 0 {
			continue
		}
		if labels.SelectorFromSet(s.Spec.Selector).Matches(pods) {
			return true
		}
	}
	return false
}
