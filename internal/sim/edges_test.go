package sim

import (
	"slices"
	"testing"

	"github.com/loadline/loadline"
)

func TestEdgesAreDistinctAndSorted(t *testing.T) {
	call := func(service int, calls ...loadline.Call) loadline.Call {
		c := loadline.Call{Service: service}
		for i := range calls {
			c.Stages = append(c.Stages, calls[i:i+1])
		}
		return c
	}
	app := &loadline.App{
		Services: make([]loadline.Service, 4),
		Kinds: []loadline.Kind{
			{Root: call(2, call(0), call(1, call(0)), call(0))}, // the same pair twice
			{Root: call(0, call(3, call(3)))},                   // a service that calls itself
			{Root: call(1)},
		},
	}
	want := []Edge{{0, 3}, {1, 0}, {2, 0}, {2, 1}, {3, 3}}
	got := Edges(app)
	if !slices.Equal(got, want) {
		t.Errorf("edges %v, want %v", got, want)
	}
	for i, e := range want {
		if at := EdgeIndex(got, e); at != i {
			t.Errorf("edge %v found at %d, want %d", e, at, i)
		}
	}
	if at := EdgeIndex(got, Edge{0, 1}); at != -1 {
		t.Errorf("an edge that is not there was found at %d", at)
	}
}
