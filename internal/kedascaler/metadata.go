package kedascaler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/suggest"
)

// Keys of a trigger's metadata that are ours.
const (
	keyLoadLine  = "loadline"  // NAMESPACE/NAME, or NAME in the ScaledObject's namespace
	keyService   = "service"   // its name in the LoadLine
	keyTolerance = "tolerance" // zero or overshoot
)

var ourKeys = []string{keyLoadLine, keyService, keyTolerance}

// kedaKeys are those that KEDA reads itself and passes on with the rest.
var kedaKeys = []string{"scalerAddress", "enableTLS", "unsafeSsl", "caCert", "tlsCertFile", "tlsClientCert", "tlsClientKey"}

// tolerance is what the trigger says of the HPA that follows it.
type tolerance int

const (
	toleranceZero      tolerance = iota // the ScaledObject sets it to 0: publish what is wanted
	toleranceOvershoot                  // it is the cluster's: publish what gets past it
)

var tolerances = []string{"zero", "overshoot"}

// errMetadata is what is wrong with a trigger's metadata.
var errMetadata = errors.New("trigger metadata")

// trigger is what one says.
type trigger struct {
	Target
	tolerance tolerance
}

// parseTrigger reads what KEDA passes on of a ScaledObject. Keys that nobody
// knows are passed over, since a later KEDA may have more of its own; those that
// look like a slip in one of ours are not.
func parseTrigger(namespace, name string, metadata map[string]string) (trigger, error) {
	t := trigger{Target: Target{ScaledObject: Name{namespace, name}}}
	var faults []error
	if !objectName(namespace) || !objectName(name) {
		faults = append(faults, fmt.Errorf("%w: the ScaledObject is named %q in namespace %q, which no object can be", errMetadata, name, namespace))
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

// objectName says whether an object of Kubernetes can have that name.
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

// serviceName is looser: an application's model may call it as it likes.
func serviceName(s string) bool {
	return s != "" && len(s) <= longestName && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "/\n\r\t")
}
