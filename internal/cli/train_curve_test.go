package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	drpctrainer "github.com/loadline/loadline/internal/policy/drpc/trainer"
	msarstrainer "github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/train"
)

// TestCurvesAsOthersReadThem checks the columns and fields that scripts read.
func TestCurvesAsOthersReadThem(t *testing.T) {
	f := trainFlags{log: filepath.Join(t.TempDir(), "curve.csv")}
	common := train.Point{Steps: 40, Episodes: 2, Explored: 0.5, Loss: 1.0 / 3, Evaluation: 0.25, QoS: 1, CPU: 0.125, Memory: 0.75}
	const (
		head   = "steps,episodes,explored,loss,evaluation,qos,cpu,memory,imitation"
		row    = "40,2,0.5,0.333333,0.25,1,0.125,0.75,"
		fields = `{"steps":40,"episodes":2,"explored":0.5,"loss":0.3333333333333333,"evaluation":0.25,"qos":1,"cpu":0.125,"memory":0.75,`
	)
	drpc := drpctrainer.Point{Point: common, Imitation: 0.5}
	msars := msarstrainer.Point{Point: common, Users: 0.5, CommonReward: 0.25}
	for name, of := range map[string]struct {
		write      func() error
		point      any
		csv, field string
	}{
		"drpc": {func() error { return f.writeDRPCLog([]drpctrainer.Point{drpc}) }, drpc, head + "\n" + row + "0.5\n",
			`"imitation":0.5}`},
		"msars": {func() error { return f.writeMSARSLog([]msarstrainer.Point{msars}) }, msars,
			head + ",users,yardstick\n" + row + ",0.5,0.25\n", `"users":0.5,"yardstick":0.25}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := of.write(); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(f.log); err != nil || string(got) != of.csv {
				t.Errorf("%v, wrote:\n%s\nwant:\n%s", err, got, of.csv)
			}
			if got, err := json.Marshal(of.point); err != nil || string(got) != fields+of.field {
				t.Errorf("%v, %s, want %s", err, got, fields+of.field)
			}
		})
	}
	f.log = ""
	if err := f.writeDRPCLog([]drpctrainer.Point{drpc}); err != nil {
		t.Errorf("no log: %v", err)
	}
}

func TestNoGainIsReported(t *testing.T) {
	unchanged := train.Result{Policy: train.NoChange, Reward: 0.8}
	for _, c := range []struct {
		reward float64
		want   string
	}{
		{0.85, ""},
		{0.8, "warning: students did no better than changing nothing (reward 0.800, without changes 0.800)"},
		{0.5, "reward 0.500, without changes 0.800"},
	} {
		got := NoGain(unchanged, train.Result{Policy: "students", Reward: c.reward})
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v: %q, want %q in it", c.reward, got, c.want)
		}
	}
}
