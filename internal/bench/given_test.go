package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

func given(t *testing.T, spec string, seed uint64) *workload.Workload {
	t.Helper()
	w, err := workload.Parse(spec, 4*time.Minute, time.Second, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestGivenWorkloadsShareTheirCalibration(t *testing.T) {
	validation := []*workload.Workload{given(t, smallBursts, 8), given(t, smallBursts, 9)}
	m := smallMatrix("hpa", "hpa@calibrated")
	m.Seeds, m.Workloads = 2, nil
	for i, name := range []string{"peak", "steepest"} {
		m.Workloads = append(m.Workloads, Workload{Name: name, Given: &Given{Test: given(t, smallBursts, uint64(i)),
			Validation: validation}})
	}
	dir := t.TempDir()
	results, err := Run(context.Background(), m, Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	prepared, _ := filepath.Glob(filepath.Join(dir, preparedFolder, "*.json"))
	if len(prepared) != 1 {
		t.Errorf("%d calibrations, want 1", len(prepared))
	}
	if len(results.Rows) != 4 || results.Rows[1].Case.Policy != results.Rows[3].Case.Policy {
		t.Errorf("%+v", results.Rows)
	}
	// Both seeds of one stretch have the same request rates.
	for _, row := range results.Rows {
		record, err := ReadRecord(dir, row.Runs[0])
		if err != nil || record.Case.Workload != row.Case.Workload || len(row.Runs) != 2 {
			t.Errorf("%+v, %v", row.Case, err)
		}
	}
	if _, err := ReadRecord(dir, "nonesuch"); err == nil {
		t.Error("no error")
	}
	m.Workloads[0].Given = &Given{Test: validation[0]}
	if _, err := m.Check(""); err == nil || !strings.Contains(err.Error(), "without data to calibrate on") {
		t.Error(err)
	}
}

func TestModelsAreKnownByTheirContent(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		name, err := policyByContent("model:file=" + path)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := write("a", "one")
	if write("b", "one") != first {
		t.Error("the same model at another place is another policy")
	}
	if write("a", "two") == first {
		t.Error("another model at the same place is the same policy")
	}
	if got, err := policyByContent("hpa:target=60"); err != nil || got != "hpa:target=60" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := policyByContent("model:file=" + filepath.Join(dir, "gone")); err == nil {
		t.Error("no error")
	}
}
