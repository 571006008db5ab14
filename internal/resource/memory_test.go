package resource_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// TestMemorySurvivesTheStatus: what the guards remember is the same after it was
// written to the API server and read again.
func TestMemorySurvivesTheStatus(t *testing.T) {
	size := loadline.Size{CPURequest: 0.251, CPULimit: 1, MemoryRequest: 100 << 20}
	want := guard.Memory{
		At: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC), Kinds: []string{"buy", "browse"},
		Brownout: guard.BrownoutMemory{Off: []string{"ads"}, Switched: loadline.Some(90 * time.Second), Met: loadline.Some(15 * time.Second)},
		Services: map[string]guard.ServiceMemory{
			"web": {
				Raised: loadline.Some(10 * time.Minute), Reduced: loadline.Some(45 * time.Second),
				Watch: &guard.Watch{
					Stage: "first", Age: 45 * time.Second, Interrupted: true, Before: loadline.Allocation{Replicas: 40, Size: size},
					Target: loadline.Allocation{Replicas: 3, Size: size}, Last: loadline.Allocation{Replicas: 40, Size: size}, Low: 30,
				},
			},
			"ads": {Reduced: loadline.Some(time.Duration(0))},
		},
	}
	status := v1alpha1.LoadLineStatus{Services: []v1alpha1.ServiceStatus{{Name: "web"}, {Name: "ads"}, {Name: "db"}}}
	resource.Remember(&status, want)
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var read v1alpha1.LoadLineStatus
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got := resource.Recall(&read)
	if !got.At.Equal(want.At) {
		t.Errorf("the memory is of %v, want %v", got.At, want.At)
	}
	got.At = want.At
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v\nfrom %s", got, want, text)
	}
	if empty := resource.Recall(&v1alpha1.LoadLineStatus{}); !empty.At.IsZero() {
		t.Errorf("an empty status has the memory %+v", empty)
	}
}
