package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

// TestRivalCurve checks the columns and fields that scripts read.
func TestRivalCurve(t *testing.T) {
	f := trainFlags{log: filepath.Join(t.TempDir(), "curve.csv")}
	point := trainer.Point{
		Point: train.Point{Steps: 40, Episodes: 2, Explored: 0.5, Loss: 1.0 / 3, Evaluation: 0.25, QoS: 1, CPU: 0.125,
			Memory: 0.75},
		CommonReward: 0.5,
	}
	if err := f.writeRivalLog([]trainer.Point{point}); err != nil {
		t.Fatal(err)
	}
	const csv = "steps,episodes,explored,loss,evaluation,qos,cpu,memory,imitation,yardstick\n40,2,0.5,0.333333,0.25,1,0.125,0.75,,0.5\n"
	if got, err := os.ReadFile(f.log); err != nil || string(got) != csv {
		t.Errorf("%v, wrote:\n%s\nwant:\n%s", err, got, csv)
	}
	const fields = `{"steps":40,"episodes":2,"explored":0.5,"loss":0.3333333333333333,"evaluation":0.25,"qos":1,` +
		`"cpu":0.125,"memory":0.75,"yardstick":0.5}`
	if got, err := json.Marshal(point); err != nil || string(got) != fields {
		t.Errorf("%v, %s, want %s", err, got, fields)
	}
}
