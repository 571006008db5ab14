package trainer

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/policytest"
	"github.com/loadline/loadline/lab/rivals"
)

func init() { policy.Register(Methods()...) }

func TestContract(t *testing.T) {
	for _, name := range rivals.Names() {
		t.Run(string(name), func(t *testing.T) { policytest.Contract(t, contractRival(t, name)) })
	}
}

func TestReasons(t *testing.T) {
	for _, name := range rivals.Names() {
		t.Run(string(name), func(t *testing.T) { policytest.Reasons(t, contractRival(t, name)) })
	}
}

// contractRival is a file with a rival that does something, but has learned nothing.
func contractRival(t *testing.T, name rivals.Name) string {
	app := policytest.App()
	rng := rand.New(rand.NewPCG(1, 3))
	table := func(states, choices int) rivals.Table {
		table := rivals.NewTable(states, choices)
		for i := range table.Values {
			table.Values[i], table.Tried[i] = rng.Float32(), 1
		}
		return table
	}
	model := rivals.Model{Rival: name, App: app.Name, Kinds: len(app.Kinds),
		SVM: &rivals.SVM{Mean: []float64{0, 0}, Spread: []float64{1, 1}, Weight: []float64{1, 1}}}
	for i := range app.Services {
		model.Services = append(model.Services, app.Services[i].Name)
		switch name {
		case rivals.CoScalName:
			model.Period = rivals.CoScalPeriod
			model.Table = table(rivals.CoScalLevels().States(), len(rivals.CoScalMoves))
		case rivals.ASARSAName:
			model.Period = rivals.ASARSAPeriod
			model.Table = table(rivals.ASARSALevels().States(), rivals.ASARSAChoices)
			model.ARIMA = append(model.ARIMA, rivals.Fits{CPU: &forecast.ARIMAFit{AR: []float64{0.5}, D: 1}})
		case rivals.FIRMName:
			model.Period = rivals.FIRMPeriod
			net, err := nn.MLP{Inputs: []int{rivals.FIRMWidth(len(app.Kinds))}, Hidden: []int{8}, Outputs: rivals.FIRMAxes,
				Output: nn.Tanh}.Design().Build(nn.HeUniform, rng)
			if err != nil {
				t.Fatal(err)
			}
			model.Actors = append(model.Actors, net)
		}
	}
	path := filepath.Join(t.TempDir(), "rival.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return string(name) + ":file=" + path
}
