package policy

// Dimension is one setting that is searched.
type Dimension struct {
	Key    string
	Unit   string    // behind the number: "s" for seconds
	Coarse []float64 // ascending; its ends are the ends of the range
	Step   float64   // smallest difference tried; 0 = Only
	Only   []float64 // the allowed values, if not all

	// Words are the values of a setting that is not a number; the numbers above are then indices
	// into them.
	Words []string

	// Later: it stays at its default in the grid, and is searched around the best points.
	Later bool
}

// words is a dimension of a setting that is not a number, the default first.
func words(key string, values ...string) Dimension {
	d := Dimension{Key: key, Words: values}
	for i := range values {
		d.Coarse = append(d.Coarse, float64(i))
	}
	d.Only = d.Coarse
	return d
}

// later leaves dimensions out of the grid.
func later(dimensions ...Dimension) []Dimension {
	for i := range dimensions {
		dimensions[i].Later = true
	}
	return dimensions
}

// Values in a search that stand for figures of the application, which the search puts in their
// place.
const (
	FloorFromPast   = "past"   // the setting floor: replicas by the clock, from earlier data
	LimitsRaised    = "raised" // the setting limits: twice the limits
	ReserveFromPast = "past"   // the setting reserve: a tenth of the cores that were requested
)

// aroundSearch is what is searched around a rule for plain deployments, besides its target: sizes
// together with the target, the rest around the best of these.
func aroundSearch() []Dimension {
	limits := words("limits", "keep", LimitsRaised, "lifted")
	limits.Coarse = []float64{0, 2}
	requests := words("request", "keep", "p95", "p90")
	requests.Coarse = []float64{0, 1}
	return append([]Dimension{limits, requests}, later(
		Dimension{Key: "down-window", Unit: "s", Coarse: []float64{0, 300}, Step: 15},
		words("up-policies", "4/15s+100%/15s", "20/15s+400%/15s"), words("floor", "off", FloorFromPast), words("reserve", "0", ReserveFromPast),
	)...)
}

// Search spaces of the rules. HPA's target may exceed the request, since limits do; its
// scale-down window is from none to the default; targets are whole percents, as in its API; limits
// and requests are those of the pods that it scales. The others are what their authors leave to be
// configured.
var (
	hpaSearch = append([]Dimension{
		{Key: "target", Coarse: []float64{30, 45, 60, 75, 90, 115, 150, 200}, Step: 1},
	}, aroundSearch()...)
	// Of HPA beside VPA, which sizes the pods itself.
	hpaOnlySearch = []Dimension{
		{Key: "target", Coarse: []float64{30, 45, 60, 75, 90, 115, 150, 200}, Step: 1},
		{Key: "down-window", Unit: "s", Coarse: []float64{0, 60, 150, 300}, Step: 15},
	}
	sreSearch = []Dimension{
		{Key: "target", Coarse: []float64{45, 60, 75, 90, 115, 150, 200}, Step: 1},
		{Key: "down-window", Unit: "s", Coarse: []float64{0, 300}, Step: 15},
		words("floor", "off", FloorFromPast), words("request", "p95", "p90", "keep"),
	}
	kedaSearch = append([]Dimension{
		{Key: "share", Coarse: []float64{0.3, 0.45, 0.6, 0.75, 0.9, 1.15, 1.5, 2}, Step: 0.025},
	}, aroundSearch()...)
	// The target and the window are HPA's; the look-ahead is the forecast's own.
	phpaSearch = []Dimension{
		{Key: "target", Coarse: []float64{45, 60, 75, 90, 115, 150, 200}, Step: 1},
		{Key: "down-window", Unit: "s", Coarse: []float64{0, 150, 300}, Step: 15},
		{Key: "look-ahead", Unit: "s", Coarse: []float64{15, 60, 180}, Step: 15},
	}
	kpaSearch = []Dimension{
		{Key: "target", Coarse: []float64{0.2, 0.5, 1, 2, 4, 10, 100}, Step: 0.1},
		{Key: "stable-window", Unit: "s", Coarse: []float64{20, 60, 180}, Step: 10},
		{Key: "panic-window", Coarse: []float64{10, 30}, Step: 5},
	}
	hybridSearch = []Dimension{
		{Key: "target", Coarse: []float64{0.2, 0.5, 1, 2, 4, 10, 100}, Step: 0.1},
		{Key: "tail", Coarse: []float64{75, 95, 99}, Step: 1},
		{Key: "head", Coarse: []float64{0, 5, 20}, Step: 1},
	}
	vpaSearch = []Dimension{
		{Key: "percentile", Coarse: []float64{50, 75, 90, 99}, Step: 1},
		{Key: "margin", Coarse: []float64{0, 15, 40, 80, 150, 300}, Step: 5},
		// A recommender with a week of history has full confidence.
		{Key: "history", Unit: "h", Coarse: []float64{0, 168}, Only: []float64{0, 168}},
	}
	ursaSearch = []Dimension{
		{Key: "utilisation", Coarse: []float64{15, 30, 45, 60, 75, 90}, Step: 2},
		{Key: "down-window", Unit: "s", Coarse: []float64{0, 60, 180, 300}, Step: 15},
	}
	plannerSearch = []Dimension{
		{Key: "utilisation", Coarse: []float64{60, 75, 85, 100, 120}, Step: 2.5},
		{Key: "shortfall", Coarse: []float64{0.1, 0.5, 2}, Step: 0.1},
		{Key: "down-window", Unit: "s", Coarse: []float64{60, 300}, Step: 15},
	}
	autothrottleSearch = []Dimension{
		{Key: "busy-target", Coarse: []float64{0, 0.04, 0.1, 0.2, 0.3}, Only: throttleTargets},
		{Key: "quiet-target", Coarse: []float64{0, 0.04, 0.1, 0.2, 0.3}, Only: throttleTargets},
	}
)
