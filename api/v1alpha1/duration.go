package v1alpha1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is a time span from 0, written 250ms, 30s, 2m or 1h30m.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=24
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$')",message="must be a time span with its unit, such as 250ms, 30s, 2m or 1h30m"
type Duration metav1.Duration

// Span is the duration of Go.
func (d Duration) Span() time.Duration { return d.Duration }

func (d Duration) String() string { return d.Duration.String() }

// MarshalJSON writes it as Go does.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(metav1.Duration(d)) }

// UnmarshalJSON is the reverse.
func (d *Duration) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*metav1.Duration)(d))
}
