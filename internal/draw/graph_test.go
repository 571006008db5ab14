package draw

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestGraphIsDrawnWhole(t *testing.T) {
	g := Graph{
		Title: "Who calls whom", Subtitle: "A & B",
		Boxes: []Box{{Name: "users", Part: -1}, {Name: "a<b", Lines: []string{"one", "two"}, Part: 0.4, Hint: "why & how"},
			{Name: "c", Part: 2, Alert: true}},
		Arrows: []Arrow{{From: 0, To: 1, Weight: 1}, {From: 1, To: 2, Dashed: true}, {From: 0, To: 2}},
	}
	svg := g.SVG()
	wellFormed(t, svg)
	for _, want := range []string{"a&lt;b", "why &amp; how", "A &amp; B", "two", "dashed", "mark alert"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if n := strings.Count(string(svg), `class="soft tip"`); n != 3 {
		t.Errorf("%d arrows have a tip, want 3", n)
	}
}

// TestGraphBoxesHaveTheirPlace: no two boxes overlap, and callees are to the right of their
// callers unless there are cycles.
func TestGraphBoxesHaveTheirPlace(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		circles := seed%4 == 0
		var g Graph
		for i := range 1 + rng.IntN(14) {
			g.Boxes = append(g.Boxes, Box{Name: fmt.Sprintf("service-%d", i), Lines: make([]string, rng.IntN(3)),
				Part: rng.Float64()*2 - 1})
		}
		for range rng.IntN(3 * len(g.Boxes)) {
			a := Arrow{From: rng.IntN(len(g.Boxes)), To: rng.IntN(len(g.Boxes))}
			if a.From < a.To || circles {
				g.Arrows = append(g.Arrows, a)
			}
		}
		l := g.layout()
		for i, a := range l.boxes {
			if a.x < 0 || a.y < 0 || a.x+a.width > l.width+1e-9 || a.y+a.height > l.height+1e-9 {
				t.Fatalf("seed %d: box %d at %+v is outside of %v x %v", seed, i, a, l.width, l.height)
			}
			for j, b := range l.boxes[:i] {
				if a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+b.height && b.y < a.y+a.height {
					t.Fatalf("seed %d: boxes %d and %d overlap: %+v, %+v", seed, i, j, a, b)
				}
			}
		}
		for i, a := range g.Arrows {
			if from, to := l.boxes[a.From], l.boxes[a.To]; !circles && to.x < from.x+from.width {
				t.Fatalf("seed %d: box %d is not to the right of %d", seed, a.To, a.From)
			}
			if len(l.paths[i]) < 2 {
				t.Fatalf("seed %d: arrow %d has no path", seed, i)
			}
		}
	}
}
