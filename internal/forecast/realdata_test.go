package forecast

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestGRUBeatsTheNaiveOnAlibaba checks the claim of docs/forecast.md on the public series
// beside the repository: from 10 min on the GRU is better than persistence and the seasonal
// model. Fewer networks make it fast.
func TestGRUBeatsTheNaiveOnAlibaba(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks")
	}
	name := filepath.Join("alibaba2018_machine_usage", "cluster_mean_10s_8days.csv.gz")
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", name))
	if err != nil {
		t.Skipf("no real data: %s is absent", name)
	}
	defer file.Close()
	frame, err := ReadTable(file, name, TableOptions{Columns: []string{"cpu_util_percent"}})
	if err != nil {
		t.Fatal(err)
	}
	if frame, err = frame.Resample(5 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if frame.Missing() < 60 {
		t.Errorf("%d bins are missing, the series has a gap of five hours", frame.Missing())
	}
	task := Task{Horizons: []int{1, 2, 3, 4, 5}, Levels: DefaultLevels, Season: 288}
	plan := Plan{Task: task, From: frame.Bins() * 8 / 10}
	gru, err := NewGRU(task, GRUConfig{Members: 2, Seed: 1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	var walks []Walk
	for _, m := range []Model{&persistence{}, newSeasonalNaive(task), gru} {
		w, err := WalkForward(context.Background(), frame, plan, m)
		if err != nil {
			t.Fatal(err)
		}
		walks = append(walks, w)
	}
	all, err := Score(frame, plan, walks)
	if err != nil {
		t.Fatal(err)
	}
	for h, a := range all[2].Horizons {
		last, season := all[0].Horizons[h].MSE, all[1].Horizons[h].MSE
		t.Logf("%v ahead: GRU %.5f, persistence %.5f, seasonal %.5f, inside %.3f", a.Ahead, a.MSE, last, season, a.Inside)
		if a.Ahead >= 10*time.Minute && (a.MSE > 0.95*last || a.MSE > 0.95*season) {
			t.Errorf("%v ahead: %.5f, must be below persistence (%.5f) and seasonal (%.5f) by 5 %%", a.Ahead, a.MSE, last, season)
		}
	}
}
