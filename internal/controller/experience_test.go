package controller

import (
	"testing"

	"github.com/loadline/loadline"
)

func TestCarriedOut(t *testing.T) {
	want := action{0.75, -0.6, 1}
	cpu := func(request, limit float64) loadline.Setting {
		return loadline.Setting{CPURequest: loadline.Some(request), CPULimit: loadline.Some(limit)}
	}
	all := cpu(0.3, 0.6)
	all.MemoryLimit, all.MemoryRequest, all.Replicas = loadline.Some(int64(200<<20)), loadline.Some(int64(100<<20)), loadline.Some(4)
	with := func(s loadline.Setting, change func(*loadline.Setting)) loadline.Setting {
		change(&s)
		return s
	}
	for _, row := range []struct {
		name           string
		proposed, plan loadline.Setting
		done           action
		counts         bool
	}{
		{"everything is done", all, all, want, true},
		{"nothing was wanted", loadline.Setting{}, loadline.Setting{}, action{}, true},
		{"a guard drops everything", all, loadline.Setting{}, action{}, true},
		{"a guard drops the replicas", all, with(all, func(s *loadline.Setting) { s.Replicas.Set = false }), action{0.75, -0.6, 0}, true},
		{"sizes are rounded", all, with(all, func(s *loadline.Setting) { s.CPULimit.Value, s.MemoryLimit.Value = 0.601, 201<<20 }),
			want, true},
		{"only requests may be moved", all, with(all, func(s *loadline.Setting) { s.CPULimit.Set, s.MemoryLimit.Set = false, false }),
			want, true},
		{"a guard goes part of the way", all, with(all, func(s *loadline.Setting) { s.CPULimit.Value = 0.5 }), action{}, false},
		{"a guard adds replicas", loadline.Setting{}, replicas(7), action{}, false},
		{"a guard takes the other way", replicas(2), replicas(5), action{}, false},
		{"a guard browns out", loadline.Setting{}, brownout(true), action{}, false},
		{"a student browns out", brownout(true), brownout(true), action{0, 0, 1}, true},
		{"and may not", brownout(true), loadline.Setting{}, action{}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			done, counts := carriedOut(want, row.proposed, row.plan)
			if done != row.done || counts != row.counts {
				t.Errorf("%v, %v; want %v, %v", done, counts, row.done, row.counts)
			}
		})
	}
}
