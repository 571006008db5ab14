package trainer

import (
	"fmt"
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/rivals"
)

// Labelled runs for FIRM's support vector machine: in each, one service, the culprit, is
// underprovisioned.
const (
	labelShare = 0.1 // of the steps, at most
	labelSteps = 24  // of a run
	labelSkip  = 6   // first steps that are skipped, because a correlation takes several observations
)

// labelRuns makes each service the culprit in turn and trains the SVM on the symptoms
// during SLO violations. It returns the number of steps and a summary.
func labelRuns(w *env, firm *rivals.FIRM, config rivals.SVMConfig, steps int, seed uint64) (*rivals.SVM, int, string, error) {
	visited := visitedServices(w)
	var examples []rivals.Example
	taken := 0
	defer w.Shorten(labelSteps)()
	for run := 0; taken+labelSteps <= steps; run++ {
		culprit := visited[run%len(visited)]
		w.begin(rl.NewRNG(seed, labelStream+uint64(run)).Rand, culprit)
		for !w.Over() {
			w.act(loadline.Proposal{})
			if w.StepsTaken() < labelSkip {
				continue
			}
			firm.Symptoms(w.Situation(), func(service int, symptoms []float64) {
				examples = append(examples, rivals.Example{Inputs: slices.Clone(symptoms), Yes: service == culprit})
			})
		}
		taken += labelSteps
	}
	rng := rl.NewRNG(seed, svmStream)
	rng.Shuffle(len(examples), func(i, j int) { examples[i], examples[j] = examples[j], examples[i] })
	held := len(examples) / 5
	svm, err := rivals.TrainSVM(config, examples[held:], rng.Rand)
	if err != nil {
		return nil, taken, fmt.Sprintf("users never waited for more than one reason in %d labelled steps: the first service of the "+
			"critical path is the culprit", taken), nil
	}
	return svm, taken, fmt.Sprintf("the support vector machine classifies %.0f %% of %d held-out examples correctly, mean over both "+
		"classes", 100*svm.Accuracy(examples[:held]), held), nil
}

// visitedServices are the services that any kind of request visits.
func visitedServices(w *env) []int {
	var visited []int
	for i := range w.Topology().Services {
		if slices.ContainsFunc(w.Topology().Services[i].Visits, func(v float64) bool { return v > 0 }) {
			visited = append(visited, i)
		}
	}
	return visited
}
