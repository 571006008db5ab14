package bench

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDrawnScenesAreTheSameEachTime, with a name of their own, every shape and scenes with and without
// neighbours, tighter and wider SLOs than the application's.
func TestDrawnScenesAreTheSameEachTime(t *testing.T) {
	one, err := drawn()
	if err != nil {
		t.Fatal(err)
	}
	two, err := drawn()
	if err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("two draws differ: %v", err)
	}
	names, shapes, apps := map[string]bool{}, map[string]int{}, map[string]bool{}
	shared, tighter, wider := 0, 0, 0
	for _, s := range one {
		names[s.Name], apps[s.App.Name] = true, true
		shapes[s.Workload.Name]++
		if s.Cluster.Neighbours.Use > 0 {
			shared++
		}
		own, err := scaledApp(drawnAppOf(t, s.App.Name), 1)
		if err != nil {
			t.Fatal(err)
		}
		if s.App.Model.Kinds[0].SLO.Latency < own.Model.Kinds[0].SLO.Latency {
			tighter++
		} else {
			wider++
		}
		w, err := new(opened).open(s.Workload, testPart, 1)
		if err != nil {
			t.Fatal(err)
		}
		if w.Duration() != twoHours || w.Max() < 20 || w.Max() > 40*3*16*1.4 {
			t.Errorf("%s: %v, at most %v requests/s", s.Name, w.Duration(), w.Max())
		}
		if err := s.Cluster.CheckApp(s.App.Model); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if len(names) != drawnScenes || len(apps) < 10 || shared < 5 || shared > 20 || tighter < 8 || wider < 8 {
		t.Errorf("%d names, %d applications, %d with neighbours, %d tighter, %d wider SLOs", len(names), len(apps), shared, tighter, wider)
	}
	for _, shape := range drawnShapes {
		if shapes[shape.name] != drawnScenes/len(drawnShapes) {
			t.Errorf("shape %s: %d scenes of %v", shape.name, shapes[shape.name], slices.Sorted(maps.Keys(shapes)))
		}
	}
}

// drawnAppOf is the embedded application that a scaled one is of.
func drawnAppOf(t *testing.T, scaled string) string {
	for _, name := range drawnApps {
		if strings.HasPrefix(scaled, name+"-x") {
			return name
		}
	}
	t.Fatalf("%s is no scaled application", scaled)
	return ""
}
