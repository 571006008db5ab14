package policy

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func twoSteps() *Schedule {
	s := NewSchedule(boundApp())
	s.Set(0, 16*time.Second, loadline.Allocation{Replicas: 3, Size: loadline.Size{CPURequest: 0.1, CPULimit: 1.5, MemoryRequest: 1 << 30}})
	s.Set(0, 31*time.Second, loadline.Allocation{Replicas: 4, Size: loadline.Size{CPURequest: 0.1, CPULimit: 1.5}, Brownout: true})
	s.Reserve, s.RecreateAfter = 1.5, time.Minute
	return s
}

func TestScheduleIsReadAsWritten(t *testing.T) {
	text, err := json.Marshal(twoSteps())
	if err != nil {
		t.Fatal(err)
	}
	var got Schedule
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(&got, twoSteps()) {
		t.Errorf("%+v, %v\nof %s", got, err, text)
	}
	for _, wrong := range []string{`[1,2]`, `[0,1,1,1,1,1,true,1]`, `[0,"x",1,1,1,1]`, `{}`} {
		if err := new(ScheduleStep).UnmarshalJSON([]byte(wrong)); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}

func TestScheduledProposesEachStepOnce(t *testing.T) {
	p := NewScheduled(twoSteps())
	if n := p.Needs(); n.Period != time.Second || n.Reserve != 1.5 || n.RecreateAfter != time.Minute {
		t.Errorf("needs %+v", n)
	}
	p.SetFuture(scenarioStart, time.Minute, nil, nil)
	replicas := map[int]int{}
	for second := range 60 {
		proposal, err := p.Decide(scenarioStart.Add(time.Duration(second)*time.Second), loadline.Situation{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range proposal.Services {
			if s.Service == 0 {
				replicas[second] = s.Setting.Replicas.Value
			}
		}
	}
	if want := map[int]int{0: 0, 16: 3, 31: 4}; !reflect.DeepEqual(replicas, want) {
		t.Errorf("replicas by second %v, want %v", replicas, want)
	}
}

func TestCoarserScheduleKeepsTheLastOfAnInterval(t *testing.T) {
	s := twoSteps()
	coarse := s.Every(30 * time.Second)
	var at []time.Duration
	for _, step := range coarse.Steps[0] {
		at = append(at, step.At)
	}
	if want := []time.Duration{0, 30 * time.Second}; !reflect.DeepEqual(at, want) || coarse.Steps[0][0].Replicas != 3 ||
		coarse.Len() != 4 {
		t.Errorf("steps at %v, want %v: %+v", at, want, coarse.Steps[0])
	}
	if s.Len() != 5 {
		t.Errorf("the original has %d steps now", s.Len())
	}
}

func TestOraclePlanAsASchedule(t *testing.T) {
	s := seen(t, "oracle:axes=replicas+cpu,level=0.1", stepRate).Schedule()
	var replicas []int
	for _, step := range s.Steps[0] {
		replicas = append(replicas, step.Replicas)
		if step.Size.CPURequest != 0.05 || step.Size.CPULimit != 2 {
			t.Errorf("size %+v", step.Size)
		}
	}
	if want := []int{1, 10, 1}; !reflect.DeepEqual(replicas, want) {
		t.Errorf("replicas %v, want %v", replicas, want)
	}
}

func TestAScheduleAtAnInstant(t *testing.T) {
	s := &Schedule{Steps: [][]ScheduleStep{{{At: 0, Allocation: loadline.Allocation{Replicas: 2}},
		{At: time.Minute, Allocation: loadline.Allocation{Replicas: 5}}}}}
	for at, want := range map[time.Duration]int{0: 2, 59 * time.Second: 2, time.Minute: 5, time.Hour: 5} {
		if got := s.At(at)[0].Replicas; got != want {
			t.Errorf("%v: %d replicas, want %d", at, got, want)
		}
	}
}
