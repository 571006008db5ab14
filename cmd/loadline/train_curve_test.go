package main

import (
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/arena"
)

func TestIdleIsTold(t *testing.T) {
	nobody := arena.Result{Who: "nobody", Reward: 0.8}
	for _, c := range []struct {
		reward float64
		want   string
	}{
		{0.85, ""},
		{0.8, "warning: students did no better than changing nothing (reward 0.800, nobody has 0.800)"},
		{0.5, "reward 0.500, nobody has 0.800"},
	} {
		got := idle(nobody, arena.Result{Who: "students", Reward: c.reward})
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v: %q, want %q in it", c.reward, got, c.want)
		}
	}
}
