package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestOneFailingCandidateLeavesTheOthers(t *testing.T) {
	s := smallSubject(t)
	s.Delays = nil // scaling-ops cannot learn without them
	candidates := slices.Concat(smallLineUp(t, 2), smallLineUp(t, 1, "loadline-dqn"))
	f, err := Begin(t.TempDir(), "test", s, candidates, false)
	if err != nil {
		t.Fatal(err)
	}
	err = TrainEach(context.Background(), s, candidates, Each{Workers: 2, Done: f.Keep})
	var failed FailedError
	if !errors.As(err, &failed) || len(failed) != 2 || f.Missing() != 2 || f.Candidates[2].SHA256 == "" {
		t.Fatalf("%d are missing: %v", f.Missing(), err)
	}
	if from := candidates[1].From; from != candidates[0].Name || !strings.Contains(failed[candidates[1].Name].Error(),
		"starts from the weights of "+from+", which was not trained") {
		t.Errorf("%s begins with the weights of %q: %v", candidates[1].Name, from, failed[candidates[1].Name])
	}
	if err := f.Fail(failed); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRun(f.Dir)
	if err != nil || !strings.Contains(again.Candidates[0].Failed, "no service has a history") || again.Candidates[2].Failed != "" {
		t.Errorf("%+v, %v", again.Candidates, err)
	}
}
