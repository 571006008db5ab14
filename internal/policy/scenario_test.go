package policy

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var update = flag.Bool("update", false, "rewrite the expected decisions in testdata")

// A scenario is a text: a policy, a service, and lines of "time: what is seen".
// After each comes what the policy decided, which the next line starts from.
//
//	policy hpa:target=50
//	service replicas=4 min=1 max=20
//	15s: 4 ready 90%
//	    -> 8 CPU at 90 % of the request, target 50 %
//
// The policy looks at nothing before it: "policy" starts it anew.
//
// A service may have a size, cpu=request/limit in cores and mem=request/limit
// in MiB, and bounds on them (mincpu, maxcpu, minmem, maxmem).
//
// Pods are ready, pending, starting, draining, missing (ready, without a
// sample), unready (starting, with one) or fresh (ready for less than a
// sample's window). Each group may say what each pod uses: 90% (of its CPU
// request), mem=90%, busy=4 (visits), cores=0.3, MiB=200, age=13h. The service's own samples
// stand between the groups: rate=120, throttled=0.2, restarts=1, held=3 (of a
// service with hold=100, say).
//
// "2s..60s/2s: ..." is a line for each step. It shows the decisions that changed
// something, with their time, and the last one.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScenario(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("decisions differ; go test -run Scenarios -update shows the difference in git\n%s", got)
			}
		})
	}
}

const decided = "    -> "

// scenario is the state of a scenario.
type scenario struct {
	app    *loadline.App
	policy loadline.Policy
	alloc  []loadline.Allocation
	pods   podNames
	out    strings.Builder
}

func playScenario(t *testing.T, text string) string {
	s := &scenario{
		app:   &loadline.App{Services: []loadline.Service{{Name: "web"}}},
		alloc: []loadline.Allocation{{}},
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, decided) {
			continue
		}
		fmt.Fprintln(&s.out, line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "policy":
			var err error
			if s.policy, err = New(rest, s.app); err != nil {
				t.Fatal(err)
			}
		case word == "service":
			readService(t, rest, &s.app.Services[0], &s.alloc[0])
		default:
			when, seen, _ := strings.Cut(line, ":")
			s.playLine(t, when, seen)
		}
	}
	return s.out.String()
}

// playLine runs "15s" or "15s..60s/15s".
func (s *scenario) playLine(t *testing.T, when, seen string) {
	span := func(text string) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%q: %v", when, err)
		}
		return d
	}
	first, rest, many := strings.Cut(when, "..")
	if !many {
		fmt.Fprintln(&s.out, decided+s.decide(t, span(when), seen))
		return
	}
	until, step, _ := strings.Cut(rest, "/")
	last := span(until)
	for at := span(first); at <= last; at += span(step) {
		before := s.alloc[0]
		said := s.decide(t, at, seen)
		if s.alloc[0] != before || at == last {
			fmt.Fprintf(&s.out, "%s%v: %s\n", decided, at, said)
		}
	}
}

func (s *scenario) decide(t *testing.T, at time.Duration, text string) string {
	now := scenarioStart.Add(at)
	situation := loadline.Situation{App: s.app, Allocation: s.alloc, InFlight: s.alloc, Window: []loadline.Observation{{
		At: now, Services: []loadline.ServiceObservation{readSeen(t, now, text, s.alloc[0].Size, &s.pods)},
	}}}
	proposal, err := s.policy.Decide(now, situation)
	for _, p := range proposal.Services {
		s.alloc[0] = s.alloc[0].With(p.Setting)
	}
	return desired(proposal, err)
}

func desired(p loadline.Proposal, err error) string {
	switch {
	case errors.Is(err, loadline.ErrNoData):
		return "no data"
	case err != nil:
		return "error: " + err.Error()
	case len(p.Services) == 0:
		return "nothing"
	}
	s := p.Services[0]
	var parts []string
	if s.Setting.Replicas.Set {
		parts = append(parts, strconv.Itoa(s.Setting.Replicas.Value))
	}
	if s.Setting.CPURequest.Set {
		parts = append(parts, fmt.Sprintf("cpu=%.4g/%.4g", s.Setting.CPURequest.Value, s.Setting.CPULimit.Value))
	}
	if s.Setting.CPULimit.Set && !s.Setting.CPURequest.Set {
		parts = append(parts, fmt.Sprintf("limit=%.4g", s.Setting.CPULimit.Value))
	}
	if s.Setting.MemoryRequest.Set {
		parts = append(parts, fmt.Sprintf("mem=%d/%d", s.Setting.MemoryRequest.Value>>20, s.Setting.MemoryLimit.Value>>20))
	}
	if parts == nil {
		return "leave it: " + s.Reason
	}
	return strings.Join(parts, " ") + " " + s.Reason
}
