// Package knative is the autoscaler of Knative Services with the annotation
//
//	autoscaling.knative.dev/class: loadline.dev
//
// Knative Serving makes a PodAutoscaler for each revision, and leaves those of a foreign
// class to a controller of that class, which is here. It finds the revision's Deployment,
// keeps its ServerlessService in one of two modes (Serve: requests go to the pods; Proxy:
// through the activator, which holds them while there is no pod), scales the Deployment, and
// writes the PodAutoscaler's status, from which Serving derives that of the revision.
//
// The number of replicas comes from the LoadLine that names the Knative Service, for its
// latest ready revision, and otherwise from the rule of Knative's own autoscaler with the
// targets of the revision's annotations (the policy kpa). Without data, nothing is changed.
//
// Reading order: types.go (the parts of Knative's objects that are used), config.go (settings
// of the cluster and of a revision), conditions.go, decide.go (what follows from what is seen;
// no I/O), stats.go (what queue-proxies and activators report), rule.go (replicas without a
// LoadLine), scrape.go (reading them), named.go (replicas of a LoadLine), controller.go
// (the objects), run.go (the ticks).
package knative
