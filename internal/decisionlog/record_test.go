package decisionlog

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

func TestARecordGivesBackWhatWasSeen(t *testing.T) {
	app := sampleApp()
	d, s := sampleDecision(app, noon)
	text, err := json.Marshal(Of(d, s))
	if err != nil {
		t.Fatal(err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	back := r.Situation(app, []loadline.Observation{r.Observation(app)})
	if !reflect.DeepEqual(back, s) {
		t.Errorf("situation\n%+v\nwant\n%+v", back, s)
	}
	if r.Policy != "hpa" || !r.At.Equal(d.At) || !r.Applied.Equal(d.Applied) || r.Error != "a <sign> of trouble" {
		t.Errorf("record %+v", r)
	}
	if room := d.Proposal.Reserve.Value; r.Reserve == nil || float64(r.Reserve.Cores) != room.Cores || r.Reserve.Memory != room.Memory {
		t.Errorf("reserve %+v, want %+v", r.Reserve, room)
	}
	web := r.Service("web")
	want := d.Proposal.Services[0]
	got := web.Proposal.Setting.Setting()
	if !math.IsNaN(got.CPURequest.Value) || !got.CPURequest.Set {
		t.Errorf("CPU request %+v, want one that is not a number", got.CPURequest)
	}
	got.CPURequest, want.Setting.CPURequest = loadline.Opt[float64]{}, loadline.Opt[float64]{}
	if got != want.Setting || web.Proposal.Reason != want.Reason || web.Proposal.RunnerUp.Setting.Setting() != want.RunnerUp.Setting {
		t.Errorf("proposal %+v", web.Proposal)
	}
	if g := web.Guards[0]; g.Name != "step" || g.To.Setting() != d.Changed[0].To || g.Reason != d.Changed[0].Reason {
		t.Errorf("guard %+v", g)
	}
	if web.Plan.Setting() != d.Plan.Services[0].Setting || r.Service("db").Plan != nil || r.Service("db").Proposal != nil {
		t.Errorf("plans %+v and %+v", web.Plan, r.Service("db").Plan)
	}
}

// Absent values must not come back as zero, nor be written at all.
func TestAbsentStaysAbsent(t *testing.T) {
	app := sampleApp()
	d := &loadline.Decision{At: noon, Policy: "hpa"}
	s := loadline.Situation{
		App: app, Window: []loadline.Observation{{At: noon}},
		Allocation: make([]loadline.Allocation, 2), InFlight: make([]loadline.Allocation, 2),
	}
	text, err := json.Marshal(Of(d, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"rate", "latency", "applied", "forecast", "proposal", "plan", "error", "expected", "kinds"} {
		if strings.Contains(string(text), `"`+word+`"`) {
			t.Errorf("%s is in %s", word, text)
		}
	}
}

// TestFormat pins the format on disk: a change that is not explained by a new version, or by an
// added field, breaks existing logs.
func TestFormat(t *testing.T) {
	var b bytes.Buffer
	app := sampleApp()
	r := sampleRecord(app, 0)
	r.Mode, r.Rung = "Act", "model"
	r.Expected = &Outlook{Kind: "buy", Percentile: 99, Latency: Seconds(180 * time.Millisecond), OverSLO: 0.72, Cores: 4.2}
	r.Services[0].foresee(sampleOutlook(), app, 0)
	for _, l := range []*line{{Version: Version, App: app}, {Version: Version, Decision: r}} {
		if err := appendLine(&b, l); err != nil {
			t.Fatal(err)
		}
	}
	const file = "testdata/format.log"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("differs from %s:\n%s", file, b.String())
	}
	reader := &Reader{}
	err = reader.readAll(bytes.NewReader(want), file, nil, func(e Entry) error {
		if !reflect.DeepEqual(e.App, app) {
			t.Errorf("application %+v", e.App)
		}
		again, _ := json.Marshal(e.Record)
		if first, _ := json.Marshal(r); !bytes.Equal(first, again) {
			t.Errorf("read back %s", again)
		}
		return nil
	})
	if err != nil || len(reader.Damage) > 0 {
		t.Errorf("%v, %v", err, reader.Damage)
	}
}

// TestLogsOfEarlierReleasesAreRead: without the twin's outlook of services.
func TestLogsOfEarlierReleasesAreRead(t *testing.T) {
	const file = "testdata/format-before-outlook.log"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader := &Reader{}
	n := 0
	err = reader.readAll(bytes.NewReader(old), file, nil, func(e Entry) error {
		n++
		text := Explain(e, "web")
		for _, want := range []string{"web went from 4 to 5 replicas",
			"With this the twin expected p99 180 ms of buy (72 % of the SLO), for 4.2 cores",
			"Runner-up was 4 replicas (valued 0.1 less)", "Guard step cut that to 5 replicas"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %q", want, text)
			}
		}
		return nil
	})
	if err != nil || len(reader.Damage) > 0 || n != 1 {
		t.Errorf("%d decisions, %v, %v", n, err, reader.Damage)
	}
}

func TestNumbersSurvive(t *testing.T) {
	for _, v := range []float64{0, -0.1, 1e-9, 1e300, 123456789.123, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxInt64} {
		text, err := json.Marshal(Sample{Value: v, Age: 90*time.Hour + 1, Present: true})
		if err != nil {
			t.Fatal(err)
		}
		var s Sample
		if err := json.Unmarshal(text, &s); err != nil || s.Age != 90*time.Hour+1 || !s.Present || s.Value != v && !math.IsNaN(v) ||
			math.IsNaN(v) != math.IsNaN(s.Value) {
			t.Errorf("%v came back as %+v (%s, %v)", v, s, text, err)
		}
	}
	for _, text := range []string{`[1]`, `[1,2,3]`, `{}`, `["x",1]`, `[1,1e300]`, `[1,"NaN"]`} {
		var s Sample
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s was read as %+v", text, s)
		}
	}
}
