package resource_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// What a process leaves in the status is what the next one resumes from.
func TestLadderComesBack(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, rung := range []guard.Rung{guard.Primary, guard.Rule, guard.Hold, guard.Floor} {
		was := guard.State{Rung: rung, Since: at, Why: "it burned", Distrust: true, Recovery: 20 * time.Minute}
		text, err := json.Marshal(resource.Ladder(was))
		if err != nil {
			t.Fatal(err)
		}
		var kept v1alpha1.LadderStatus
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		is, ok := resource.State(&kept)
		is.Since = is.Since.UTC()
		if !ok || is != was {
			t.Errorf("%s became %+v", text, is)
		}
	}
	if _, ok := resource.State(nil); ok {
		t.Error("a state of nothing")
	}
	if got, ok := resource.State(&v1alpha1.LadderStatus{Rung: "Learned"}); !ok || got.Rung != guard.Primary {
		t.Errorf("the rung Learned of earlier versions is read as %v, %v", got.Rung, ok)
	}
	if _, ok := resource.State(&v1alpha1.LadderStatus{Rung: "Roof"}); ok {
		t.Error("a rung that does not exist")
	}
}

func TestTextFits(t *testing.T) {
	for _, n := range []int{0, 1, v1alpha1.MaxText, v1alpha1.MaxText + 1, 10000} {
		got := resource.Text(strings.Repeat("ü", n))
		if want := min(n, v1alpha1.MaxText); utf8.RuneCountInString(got) != want || !utf8.ValidString(got) {
			t.Errorf("%d characters became %d", n, utf8.RuneCountInString(got))
		}
	}
}

func TestMeasured(t *testing.T) {
	at := time.Unix(1, 0)
	for _, row := range []struct {
		sample loadline.Sample
		want   v1alpha1.Measured
	}{
		{loadline.Sample{}, ""},
		{loadline.Sample{Value: 0, At: at}, "0"},
		{loadline.Sample{Value: 67.123456, At: at}, "67.12"},
		{loadline.Sample{Value: math.NaN(), At: at}, ""},
		{loadline.Sample{Value: math.Inf(1), At: at}, ""},
	} {
		if got := resource.Measured(row.sample); got != row.want {
			t.Errorf("%v is %q, want %q", row.sample, got, row.want)
		}
	}
}

func TestAmounts(t *testing.T) {
	text := func(a *v1alpha1.Amounts) string {
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := text(resource.Wanted(loadline.Setting{})); got != "null" {
		t.Errorf("nothing is %s", got)
	}
	s := loadline.Setting{Replicas: loadline.Some(0), CPURequest: loadline.Some(0.2501), MemoryLimit: loadline.Some(int64(64 << 20)),
		Brownout: loadline.Some(false)}
	if got, want := text(resource.Wanted(s)), `{"replicas":0,"cpuRequest":"251m","memoryLimit":"64Mi","brownout":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := text(resource.Desired(loadline.Allocation{Replicas: 3,
		Size: loadline.Size{CPURequest: 0.1}})), `{"replicas":3,"cpuRequest":"100m"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := text(resource.Wanted(loadline.Setting{CPULimit: loadline.Some(math.NaN())})); got != "{}" {
		t.Errorf("what is no number is %s", got)
	}
}
