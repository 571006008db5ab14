package cli

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// makeSplitModel is the script command "splitmodel WAY FILE": a model of slo train, on made-up
// chains and briefly trained.
func makeSplitModel(ts *testscript.TestScript, _ bool, args []string) {
	rng := rand.New(rand.NewPCG(1, 1))
	var tasks []learned.Task
	for k := range 6 {
		task := learned.Task{Name: fmt.Sprint(k)}
		for i := range 20 {
			chain := slosplit.Chain{Kind: "get", Percentile: 99, Budget: 0.3 + 0.3*rng.Float64()}
			for s := range 2 + k%3 {
				base := 0.002 + 0.02*rng.Float64()
				curve := &profile.Curve{Loads: []float64{5, 40, 80}, Latencies: []float64{base, 2 * base, 6 * base}}
				chain.Steps = append(chain.Steps, slosplit.Step{Service: s, Name: fmt.Sprint(s), Visits: 1,
					Load: 50 + 200*rng.Float64(), Cost: 0.1 + rng.Float64(), Min: 1, Max: 20, Curve: curve})
			}
			shares, err := learned.Label(&chain)
			ts.Check(err)
			sample := learned.Sample{Chain: chain, Shares: shares}
			if i < 14 {
				task.Train = append(task.Train, sample)
			} else {
				task.Test = append(task.Test, sample)
			}
		}
		tasks = append(tasks, task)
	}
	model, _, err := learned.Train(context.Background(), tasks, tasks, learned.Config{Way: args[0], Most: 100}, nil)
	ts.Check(err)
	ts.Check(model.Write(ts.MkAbs(args[1])))
}
