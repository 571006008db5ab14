package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// writeModel writes a model of bookinfo with random weights.
func writeModel(t *testing.T, path string, seed uint64) {
	t.Helper()
	loaded, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := drpc.NewEncoder(loaded.App)
	if err != nil {
		t.Fatal(err)
	}
	inputs := encoder.Width(drpc.Shared) / len(loaded.App.Services)
	teacher, err := nn.MLP{Inputs: []int{inputs}, Hidden: []int{4}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform,
		rl.NewRNG(seed, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &drpc.Model{
		App: "bookinfo", Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1,
		Pace:  drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Visits: drpc.NewVisitCounts(),
	}
	for i := range loaded.App.Services {
		name := loaded.App.Services[i].Name
		student, err := drpc.NewStudent(name, drpc.StudentConfig(), seed+uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		m.Services, m.Students, m.Forecasts = append(m.Services, name), append(m.Students, student.Net()), append(m.Forecasts, nil)
	}
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
}

// outputText collects the output of a running command.
type outputText struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (h *outputText) Write(b []byte) (int, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.text.Write(b)
}

func (h *outputText) String() string {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.text.String()
}

// until waits until the text matches a pattern and returns the first group. The test binary's
// timeout is the only bound.
func (h *outputText) until(t *testing.T, pattern string) string {
	t.Helper()
	for ; ; time.Sleep(10 * time.Millisecond) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(h.String()); found != nil {
			return found[1]
		}
	}
}

// TestTeacherAndAgents: a teacher with an embedded server, two agents in sequence, another
// model meanwhile, and a second teacher that resumes where the first ended.
func TestTeacherAndAgents(t *testing.T) {
	dir := t.TempDir()
	model, state := filepath.Join(dir, "drpc.safetensors"), filepath.Join(dir, "state")
	writeModel(t, model, 1)
	teach := func() (said *outputText, end func() (counted, version uint64)) {
		ctx, cancel := context.WithCancel(t.Context())
		said = &outputText{}
		var stdout bytes.Buffer
		code := make(chan int)
		go func() {
			code <- Run(ctx, []string{"teacher", "--embedded", "127.0.0.1:0", "--model", model, "--checkpoint", state, "--every",
				"20ms", "--output", "json"}, strings.NewReader(""), &stdout, said)
		}()
		return said, func() (uint64, uint64) {
			t.Helper()
			cancel()
			if got := <-code; got != 0 {
				t.Fatalf("the teacher ends with %d: %s", got, said)
			}
			var report struct{ Counted, Version uint64 }
			if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
				t.Fatalf("%v: %s", err, stdout.String())
			}
			return report.Counted, report.Version
		}
	}
	act := func(url, services string) (decisions uint64) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{
			"agent", "--nats", url, "--model", model, "--app", "bookinfo", "--services", services, "--workload", "constant:rps=20",
			"--duration", "10m",
			"--engine", "fluid", "--speed", "0", "--output", "json",
		}, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("the agent ends with %d: %s", code, stderr.String())
		}
		var report struct {
			Students []struct {
				Service   string
				Decisions uint64
			}
			Waiting, Lost int
			Payload       float64 `json:"payload_per_decision"`
			Wire          float64 `json:"wire_per_decision"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatalf("%v: %s", err, stdout.String())
		}
		for _, s := range report.Students {
			if !strings.Contains(services, s.Service) || s.Decisions == 0 {
				t.Errorf("%+v, want decisions of %s", s, services)
			}
			decisions += s.Decisions
		}
		if report.Waiting+report.Lost != 0 || report.Payload < 66 || report.Wire < report.Payload {
			t.Errorf("%s", stdout.String())
		}
		return decisions
	}

	said, end := teach()
	url := said.until(t, `listens at (\S+)`)
	said.until(t, `(published weights of 4 services \(version 2)`)
	decided := act(url, "reviews,details")
	writeModel(t, model, 100)
	said.until(t, `(published weights of 4 services \(version 3)`)
	decided += act(url, "productpage")
	said.until(t, `(decisions counted)`)
	if _, version := end(); version != 3 {
		t.Errorf("version %d, want 3", version)
	}

	// The second counts what the first did not.
	said, end = teach()
	decided += act(said.until(t, `listens at (\S+)`), "ratings")
	if err := waitForCount(state, decided); err != nil {
		t.Error(err)
	}
	if counted, version := end(); counted != decided || version != 3 || strings.Contains(said.String(), "published") {
		t.Errorf("%d counted, want %d; version %d, want 3 and nothing published again:\n%s", counted, decided, version, said)
	}
}

// waitForCount waits until a checkpoint has the given count.
func waitForCount(dir string, want uint64) error {
	var c struct{ Counted uint64 }
	for ; ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "fleet.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue // nothing was counted yet
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return err
		}
		if c.Counted >= want {
			return nil
		}
	}
}

// TestTeacherLearns: an agent that observes the application acts, the teacher warms up, learns
// from it and saves its state; a second teacher resumes from it.
func TestTeacherLearns(t *testing.T) {
	dir := t.TempDir()
	model, state := filepath.Join(dir, "drpc.safetensors"), filepath.Join(dir, "state")
	writeModel(t, model, 1)
	teach := func(act func(url string, said *outputText)) (report struct {
		Counted  uint64
		Learning struct {
			Snapshots, Learned, Incomplete, Rejected uint64
			Doing                                    string
		}
		Events []struct{ What string }
	}) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		said := &outputText{}
		var stdout bytes.Buffer
		code := make(chan int)
		go func() {
			code <- Run(ctx, []string{
				"teacher", "--embedded", "127.0.0.1:0", "--model", model, "--checkpoint", state, "--every", "20ms", "--output", "json",
				"--app", "bookinfo", "--workload", "constant:rps=20", "--duration", "1h", "--warm-up", "40", "--save", "0s",
			}, strings.NewReader(""), &stdout, said)
		}()
		act(said.until(t, `listens at (\S+)`), said)
		cancel()
		if got := <-code; got != 0 {
			t.Fatalf("the teacher ends with %d: %s", got, said)
		}
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatalf("%v: %s", err, stdout.String())
		}
		return report
	}
	first := teach(func(url string, _ *outputText) {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{
			"agent", "--nats", url, "--model", model, "--app", "bookinfo", "--observe-app", "--workload", "constant:rps=20", "--duration",
			"10m",
			"--engine", "fluid", "--speed", "0", "--output", "json",
		}, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("the agent ends with %d: %s", code, stderr.String())
		}
		var sent struct {
			Observer struct{ Snapshots, Incomplete uint64 } `json:"app_observer"`
			Carried  struct{ Decisions uint64 }
		}
		if err := json.Unmarshal(stdout.Bytes(), &sent); err != nil || sent.Observer.Snapshots < 15 {
			t.Fatalf("%v: %s", err, stdout.String())
		}
		if err := waitForCount(state, sent.Carried.Decisions); err != nil {
			t.Error(err)
		}
	})
	if c := first.Learning; c.Learned < 10 || c.Rejected > 0 || first.Counted == 0 || !strings.HasPrefix(first.Events[0].What,
		"started with the weights of the model") {
		t.Errorf("%+v", first)
	}
	second := teach(func(_ string, said *outputText) { said.until(t, `teacher started.* counted=([1-9])`) })
	// What the first one had not read when it was stopped is kept, and the second one learns from it.
	if second.Counted != first.Counted || second.Learning.Learned < first.Learning.Learned || len(second.Events) != len(first.Events) {
		t.Errorf("%+v after %+v: it has not gone on", second, first)
	}
}
