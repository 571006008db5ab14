package bench

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
)

type waves struct{}

// Rate goes from 10 to 60 requests per second and back, four times an hour.
func (waves) Rate(_ int, t time.Duration) (float64, time.Duration) {
	const step = 5 * time.Second
	phase := 2 * math.Pi * float64(t/step*step) / float64(15*time.Minute)
	return 35 - 25*math.Cos(phase), (t/step + 1) * step
}

func oneService() *loadline.App {
	return &loadline.App{
		Name: "small",
		Services: []loadline.Service{{
			Name: "web", CPU: loadline.Dist{Mean: 15 * time.Millisecond, CV: 1}, Workers: 32, Backlog: 64,
			Memory: loadline.Memory{Base: 50 << 20}, Startup: loadline.Dist{Mean: 5 * time.Second, CV: 0.2}, Replicas: 2,
			Size:   loadline.Size{CPURequest: 0.3, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 12, MinCPU: 0.1, MaxCPU: 2, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1},
		}},
		Nodes: []loadline.Node{{Name: "n", Cores: 16, Memory: 32 << 30}},
	}
}

func smallTask(policy string) CalibrationTask {
	return CalibrationTask{
		App: oneService(), Policy: policy, Workers: 2,
		Loads: []CalibrationLoad{
			{Rates: waves{}, Duration: 15 * time.Minute, Seed: 11}, {Rates: waves{}, Duration: 15 * time.Minute, Seed: 12},
		},
	}
}

func TestCalibratedIsFeasibleAndNoDearerThanTheDefault(t *testing.T) {
	for _, name := range CalibrationNames() {
		t.Run(name, func(t *testing.T) {
			found, err := Calibrate(context.Background(), smallTask(name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := policy.New(found.Spec, oneService()); err != nil {
				t.Errorf("what was found cannot be run: %v", err)
			}
			d, b := found.Default, found.Best
			if d.feasible() && (!b.feasible() || b.CoreHours > d.CoreHours*(1+samePrice)) || !d.feasible() && b.Over > d.Over {
				t.Errorf("%s: %v core-hours, %v over; the default %v and %v", b.Spec, b.CoreHours, b.Over, d.CoreHours, d.Over)
			}
			if b.Engine != "event" {
				t.Errorf("%s was not confirmed", b.Spec)
			}
		})
	}
}

func TestSameFindWhateverTheWorkers(t *testing.T) {
	var texts []string
	for _, workers := range []int{1, 3} {
		task := smallTask("hpa")
		task.Workers = workers
		found, err := Calibrate(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := found.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("one search, two finds:\n%s\n%s", texts[0], texts[1])
	}
	if !strings.HasPrefix(texts[0], "hpa:target=") || !strings.Contains(texts[0], "best") {
		t.Errorf("%s", texts[0])
	}
}

func TestGivenSettingsStay(t *testing.T) {
	found, err := Calibrate(context.Background(), smallTask("hpa:tolerance=0.05,limits=keep,request=keep,down-window=30s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range found.Tried {
		if !strings.HasPrefix(try.Spec, "hpa:tolerance=0.05,limits=keep,request=keep,down-window=30s,target=") {
			t.Errorf("tried %s", try.Spec)
		}
	}
}

func TestWhatCannotBeCalibrated(t *testing.T) {
	for policy, want := range map[string]string{
		"hps":                               `did you mean "hpa"`,
		"static":                            "nothing to calibrate",
		"hpa+vpa:target=60,down-window=30s": "everything that could be calibrated is given",
		"hpa:target=x":                      "must be a number",
	} {
		if err := CheckCalibration(policy, oneService()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", policy, err, want)
		}
	}
	if _, err := Calibrate(context.Background(), CalibrationTask{App: oneService(), Policy: "hpa"}); err == nil {
		t.Error("no data, no error")
	}
}

func TestSpaces(t *testing.T) {
	s, err := spaceOf("hpa", oneService())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.spec(s.defaults()); got != "hpa:target=80,limits=keep,request=keep" {
		t.Errorf("default %s", got)
	}
	if n := len(s.gridPoints()); n != 8*2*2 {
		t.Errorf("%d points", n)
	}
	// The target, limits (keep, raised, lifted), request (keep, p95, p90), scale-down window, and the rest.
	here := []float64{60, 0, 1, 0, 0, 0, 0}
	for _, row := range []struct {
		name      string
		dimension int
		round     int
		want      []float64
	}{
		{"the target, halfway", 0, 0, []float64{53, 68}},
		{"the target, a quarter", 0, 1, []float64{56, 64}},
		{"other limits", 1, 0, []float64{1, 2}},
		{"other requests", 2, 1, []float64{0, 2}},
		{"a longer window", 3, 0, []float64{150}},
	} {
		var got []float64
		for _, p := range s.around(here, row.dimension, row.round) {
			got = append(got, p[row.dimension])
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	a, err := spaceOf("autothrottle", oneService())
	if err != nil {
		t.Fatal(err)
	}
	if got := a.around([]float64{0.1, 0.3}, 0, 0); !slices.EqualFunc(got, [][]float64{{0.06, 0.3}, {0.15, 0.3}}, slices.Equal) {
		t.Errorf("around 0.1: %v", got)
	}
}

func TestRank(t *testing.T) {
	s := space{dimensions: []dimension{{Key: "x", Coarse: []float64{0, 10}}}, origin: []float64{5}}
	tries := []Try{
		{Spec: "broken", CoreHours: 1, Over: 0.5, point: []float64{5}},
		{Spec: "dear", CoreHours: 20, Over: 0, point: []float64{5}},
		{Spec: "far", CoreHours: 10, Over: 0.001, point: []float64{10}},
		{Spec: "near", CoreHours: 10.001, Over: 0.005, point: []float64{6}},
		{Spec: "nearly broken", CoreHours: 2, Over: 0.0099, point: []float64{5}},
	}
	var order []string
	for i := range tries {
		tries[i].far = s.distance(tries[i].point)
	}
	for _, r := range rank(tries) {
		order = append(order, r.Spec)
	}
	if want := []string{"near", "far", "dear", "nearly broken", "broken"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// TestCalibrationKeepsToALimitOfChanges: settings that change too often are found only if no other
// meets the SLO.
func TestCalibrationKeepsToALimitOfChanges(t *testing.T) {
	task := smallTask("hpa:limits=keep,request=keep")
	free, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Churn = &Churn{Than: "static", Times: 2, AtLeast: free.Best.Changes / 2}
	calm, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if !(free.Best.Changes > 0) || calm.Best.Changes > free.Best.Changes/2 || calm.Best.CoreHours < free.Best.CoreHours {
		t.Errorf("%s changes %v times an hour for %v core-hours, %s %v times for %v", free.Spec, free.Best.Changes, free.Best.CoreHours,
			calm.Spec, calm.Best.Changes, calm.Best.CoreHours)
	}
	task.Churn = &Churn{Than: "hpa", Times: 1000}
	if same, err := Calibrate(context.Background(), task); err != nil || same.Spec != free.Spec {
		t.Errorf("a limit that none reaches: %s, want %s; %v", same.Spec, free.Spec, err)
	}
}

func TestTheOracleCostsNoMoreThanAnyHPA(t *testing.T) {
	load := CalibrationLoad{Rates: waves{}, Duration: 15 * time.Minute, Seed: 21}
	reference, err := SearchLevels(context.Background(), LevelSearch{App: oneService(), Policy: "oracle", Load: load})
	if err != nil {
		t.Fatal(err)
	}
	task := smallTask("hpa:limits=keep,request=keep") // the oracle's axis
	task.Loads = nil                                  // other draws, as for the oracle
	for _, seed := range []uint64{1_000_003, 2_000_003, 3_000_017} {
		task.Loads = append(task.Loads, CalibrationLoad{Rates: load.Rates, Duration: load.Duration, Seed: load.Seed + seed})
	}
	hpa, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	// A schedule may use 0.6 of the allowed share of requests over the SLO, a calibration 0.7.
	if !reference.Feasible() || reference.Best.CoreHours > 1.05*hpa.Best.CoreHours {
		t.Errorf("%s: %v core-hours, %v over; %s: %v", reference.Spec, reference.Best.CoreHours, reference.Best.Over, hpa.Spec,
			hpa.Best.CoreHours)
	}
	again, err := SearchLevels(context.Background(), LevelSearch{App: oneService(), Policy: "oracle", Load: load})
	if err != nil || again.Spec != reference.Spec {
		t.Errorf("one load, two schedules: %s and %v, %v", reference.Spec, again, err)
	}
}

func TestOracleOfALoadThatCannotBeServed(t *testing.T) {
	app := oneService()
	app.Kinds[0].SLO.Latency = time.Millisecond
	found, err := SearchLevels(context.Background(), LevelSearch{App: app, Policy: "oracle",
		Load: CalibrationLoad{Rates: waves{}, Duration: 2 * time.Minute, Seed: 1}})
	if err != nil || found.Feasible() {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestFiguresOfThePast: percentiles and floors in a search become figures from the validation
// data, and what is found can be run as it is.
func TestFiguresOfThePast(t *testing.T) {
	found, err := Calibrate(context.Background(), smallTask("sre:target=75,down-window=300s"))
	if err != nil {
		t.Fatal(err)
	}
	sized, floors := false, false
	for _, try := range found.Tried {
		if strings.Contains(try.Spec, "request=p") || strings.Contains(try.Spec, "floor=past") {
			t.Errorf("%s is not resolved", try.Spec)
		}
		sized = sized || strings.Contains(try.Spec, "request=web:0.")
		floors = floors || strings.Contains(try.Spec, ":web:")
	}
	if !sized || !floors {
		t.Errorf("requests sized: %v, floors: %v in %+v", sized, floors, found.Tried)
	}
}

// TestASettingMustMeetTheSLOInEveryCluster: nodes that neighbours fill leave no room for a
// second replica.
func TestASettingMustMeetTheSLOInEveryCluster(t *testing.T) {
	task := smallTask("hpa:down-window=300s,limits=keep,request=keep")
	task.Loads = task.Loads[:1]
	free, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Clusters = WithNeighbours(pool.Cluster{}, []float64{0, 0.95})
	full, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if !free.Feasible() || free.Best.Violated != 0 || full.Feasible() || full.Best.Violated == 0 {
		t.Errorf("free nodes: %+v; full ones: %+v", free.Best, full.Best)
	}
}

// TestOneSettingForAllScenes: it meets the SLO in the harder scene too, and costs more in the
// easier one than the setting for that alone.
func TestOneSettingForAllScenes(t *testing.T) {
	easy := smallTask("hpa:down-window=0s,limits=keep,request=keep")
	easy.Loads = easy.Loads[:1]
	alone, err := Calibrate(context.Background(), easy)
	if err != nil {
		t.Fatal(err)
	}
	hard := oneService()
	hard.Kinds[0].SLO.Latency = 180 * time.Millisecond
	easy.Also = []CalibrationScene{{hard, easy.Loads, nil}}
	both, err := Calibrate(context.Background(), easy)
	if err != nil {
		t.Fatal(err)
	}
	if !both.Feasible() || both.Spec == alone.Spec || both.Best.CoreHours <= alone.Best.CoreHours {
		t.Errorf("alone %+v, for both %+v", alone.Best, both.Best)
	}
}

// TestCalibrationSavesCoresWhereTheBillIsTheSame: an application alone on nodes of its own pays
// for all of them whatever a setting does. A higher target that meets the SLO is found none the
// less, by its core-hours.
func TestCalibrationSavesCoresWhereTheBillIsTheSame(t *testing.T) {
	task := smallTask("hpa:down-window=300s,limits=keep,request=keep")
	task.Loads = task.Loads[:1]
	task.App.Kinds[0].SLO.Latency = 2 * time.Second
	task.Clusters = WithNeighbours(pool.Cluster{}, nil)
	found, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if d, b := found.Default, found.Best; !b.feasible() || b.CoreHours > 0.9*d.CoreHours {
		t.Errorf("%s with %v core-hours; the default has %v", b.Spec, b.CoreHours, d.CoreHours)
	}
}
