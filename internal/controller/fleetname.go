package controller

import (
	"crypto/sha256"
	"fmt"
	"regexp"

	"github.com/loadline/loadline/api/v1alpha1"
)

// fleetName of a LoadLine: what its annotation says, else of its namespace and the
// model's application. LoadLines of one namespace that share an application share
// its teacher, whichever process looks after them. Names of Kubernetes have no
// underscore, so two different pairs have different names.
func fleetName(prefix string, l *v1alpha1.LoadLine) string {
	if name := l.Annotations[v1alpha1.FleetAnnotation]; name != "" {
		return name
	}
	application := l.Name
	if m := l.Spec.Policy.Model; m != nil && m.Application != "" {
		application = m.Application
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
