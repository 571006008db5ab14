package kube

import (
	"fmt"
	"hash/fnv"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// releaseOf hashes what a template runs. Its sizes and annotations do not count: an autoscaler or a
// restart of the pods is no release.
func releaseOf(t *corev1.PodTemplateSpec) string {
	h := fnv.New64a()
	write := func(parts ...string) {
		for _, p := range parts {
			_, _ = io.WriteString(h, p) // never fails
			_, _ = h.Write([]byte{0})
		}
	}
	for _, containers := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			write(c.Name, c.Image)
			write(c.Command...)
			write("")
			write(c.Args...)
			for _, e := range c.Env {
				write(e.Name, e.Value)
			}
		}
		write("")
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
