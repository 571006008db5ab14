package controller

import (
	"crypto/sha256"
	"fmt"
	"regexp"

	"github.com/loadline/loadline/api/v1alpha1"
)

// fleetName of a LoadLine: of its namespace and of what its annotation says, else the
// model's application. LoadLines of one namespace that share it share a teacher,
// whichever process looks after them; no other namespace can join. Names of Kubernetes
// have no underscore, so two different pairs have different names.
func fleetName(prefix string, l *v1alpha1.LoadLine) string {
	application := l.Name
	if m := l.Spec.Policy.Model; m != nil && m.Application != "" {
		application = m.Application
	}
	if name := l.Annotations[v1alpha1.FleetAnnotation]; name != "" {
		application = name
	}
	name := prefix + "_" + l.Namespace + "_" + application
	if len(name) <= maxFleetName && plainName.MatchString(name) {
		return name
	}
	short := notPlain.ReplaceAllString(name, "-")
	short = short[:min(len(short), maxFleetName-9)]
	return fmt.Sprintf("%s-%.4x", short, sha256.Sum256([]byte(name)))
}

// maxFleetName is the longest name that a fleet may have.
const maxFleetName = 64

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	notPlain  = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)
