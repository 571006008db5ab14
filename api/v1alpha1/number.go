package v1alpha1

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Number is a non-negative decimal number, written 2 or "0.85". It keeps the text
// as written.
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+(\\\\.[0-9]+)?$')",message="must be a non-negative number, in quotes if it is not an integer, such as 2 or \"0.85\""
type Number intstr.IntOrString

// Decimal returns v with as few digits as needed.
func Decimal(v float64) Number {
	if v == math.Trunc(v) && math.Abs(v) < 1<<31 {
		return Number(intstr.FromInt32(int32(v)))
	}
	return Number(intstr.FromString(strconv.FormatFloat(v, 'f', -1, 64)))
}

// Float returns the value.
func (n Number) Float() (float64, error) {
	if n.Type == intstr.Int {
		return float64(n.IntVal), nil
	}
	v, err := strconv.ParseFloat(n.StrVal, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q must be a number such as 2 or \"0.85\"", n.StrVal)
	}
	return v, nil
}

func (n Number) String() string {
	i := intstr.IntOrString(n)
	return i.String()
}

// MarshalJSON implements json.Marshaler. It keeps the text as written.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(intstr.IntOrString(n)) }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*intstr.IntOrString)(n))
}
