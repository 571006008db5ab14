package v1alpha1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is a non-negative duration, written 250ms, 30s, 2m or 1h30m.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=24
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$')",message="must be a duration with its unit, such as 250ms, 30s, 2m or 1h30m"
type Duration metav1.Duration

// Span returns the time.Duration.
func (d Duration) Span() time.Duration { return d.Duration }

func (d Duration) String() string { return d.Duration.String() }

// MarshalJSON implements json.Marshaler, in Go's format.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(metav1.Duration(d)) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*metav1.Duration)(d))
}
