package kedascaler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/suggest"
)

// Keys of a trigger's metadata that Loadline defines.
const (
	keyLoadLine  = "loadline"  // NAMESPACE/NAME, or NAME in the ScaledObject's namespace
	keyService   = "service"   // its name in the LoadLine
	keyTolerance = "tolerance" // zero or overshoot
)

var ourKeys = []string{keyLoadLine, keyService, keyTolerance}

// kedaKeys are those that KEDA reads itself and passes on with the rest.
var kedaKeys = []string{"scalerAddress", "enableTLS", "unsafeSsl", "caCert", "tlsCertFile", "tlsClientCert", "tlsClientKey"}

// tolerance is the trigger's setting for the HPA's tolerance.
type tolerance int

const (
	toleranceZero   tolerance = iota // the ScaledObject sets it to 0: publish the desired replicas
	beyondTolerance                  // it is the cluster's: publish a value that exceeds it
)

var tolerances = []string{"zero", "overshoot"}

// errMetadata is an error in a trigger's metadata.
var errMetadata = errors.New("trigger metadata")

// trigger is the parsed metadata of a trigger.
type trigger struct {
	Target
	tolerance tolerance
}

// parseTrigger reads the metadata that KEDA passes on from a ScaledObject.
// Unknown keys are ignored, because a later KEDA may have more of its own; those
// that resemble one of Loadline's keys are errors.
func parseTrigger(namespace, name string, metadata map[string]string) (trigger, error) {
	t := trigger{Target: Target{ScaledObject: Name{namespace, name}}}
	var faults []error
	if !objectName(namespace) || !objectName(name) {
		faults = append(faults, fmt.Errorf("%w: the ScaledObject is named %q in namespace %q, which is not a valid name", errMetadata,
			name, namespace))
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if err := t.set(key, metadata[key]); err != nil {
			faults = append(faults, fmt.Errorf("%w %q: %w", errMetadata, key, err))
		}
	}
	if len(faults) > 0 {
		return trigger{}, errors.Join(faults...)
	}
	return t, nil
}

func (t *trigger) set(key, value string) error {
	switch key {
	case keyLoadLine:
		namespace, name, slash := strings.Cut(value, "/")
		if !slash {
			namespace, name = t.ScaledObject.Namespace, value
		}
		if !objectName(namespace) || !objectName(name) {
			return fmt.Errorf("%q must be NAMESPACE/NAME or NAME of a LoadLine", value)
		}
		t.LoadLine = Name{namespace, name}
	case keyService:
		if !serviceName(value) {
			return fmt.Errorf("%q must be the name of a service of the LoadLine", value)
		}
		t.Service = value
	case keyTolerance:
		i := slices.Index(tolerances, value)
		if i < 0 {
			return fmt.Errorf("unknown value %q%s", value, suggest.Hint(value, tolerances))
		}
		t.tolerance = tolerance(i)
	default:
		if slices.Contains(kedaKeys, key) {
			return nil
		}
		if meant := suggest.Of(key, ourKeys); meant != "" {
			return fmt.Errorf("unknown, did you mean %q?", meant)
		}
	}
	return nil
}

const longestName = 253

// objectName reports whether it is a valid name of a Kubernetes object.
func objectName(s string) bool {
	if s == "" || len(s) > longestName {
		return false
	}
	for i, c := range []byte(s) {
		inside := i > 0 && i < len(s)-1
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || inside && (c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

// serviceName is less strict: an application model may use any name.
func serviceName(s string) bool {
	return s != "" && len(s) <= longestName && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "/\n\r\t")
}
