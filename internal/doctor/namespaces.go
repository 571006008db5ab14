package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline/api/v1alpha1"
)

// namespacesOf a controller, by the arguments of its Deployment; none = all.
func namespacesOf(d *appsv1.Deployment) []string {
	var all []string
	for _, value := range flagOf(d, "namespaces") {
		all = append(all, strings.Split(value, ",")...)
	}
	if slices.Contains(all, "") {
		return nil // as the controller interprets it
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isAgent reports whether a Deployment runs an agent, which decides under the controller's
// account for some services only.
func isAgent(d *appsv1.Deployment) bool { return len(flagOf(d, "agent")) > 0 }

// flagOf returns the values of a flag of "loadline run" in a Deployment; none if it is not
// given.
func flagOf(d *appsv1.Deployment, name string) []string {
	var values []string
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		words := slices.Concat(c.Command, c.Args)
		if !slices.Contains(words, "run") {
			continue // of another program
		}
		for j, word := range words {
			value, is := strings.CutPrefix(word, "--"+name)
			switch {
			case is && strings.HasPrefix(value, "="):
				values = append(values, expanded(c, d.Namespace, value[1:]))
			case is && value == "" && j+1 < len(words):
				values = append(values, expanded(c, d.Namespace, words[j+1]))
			}
		}
	}
	return values
}

// expanded replaces the container's variables, as a kubelet does, as far as they are visible.
func expanded(c *corev1.Container, namespace, text string) string {
	for _, v := range c.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil {
			if from.FieldRef == nil || from.FieldRef.FieldPath != "metadata.namespace" {
				continue
			}
			value = namespace
		}
		text = strings.ReplaceAll(text, "$("+v.Name+")", value)
	}
	return text
}

// looksAt reports whether the controller watches a namespace.
func (e *exam) looksAt(namespace string) bool {
	return len(e.namespaces) == 0 || slices.Contains(e.namespaces, namespace)
}

// overlooked reports a LoadLine in a namespace that the controller does not watch.
func (e *exam) overlooked(a about, l *v1alpha1.LoadLine) {
	do := fmt.Sprintf("add %s to namespaces in the chart's values and helm upgrade; without the chart, add it to --namespaces of "+
		"Deployment %s/%s and give the account a Role there", l.Namespace, e.deployment.Namespace, e.deployment.Name)
	a.fault("namespaces", do, "The controller does not watch the namespace %s, only %s: this LoadLine is ignored, and its "+
		"conditions are not updated.", l.Namespace, some(e.namespaces))
}
