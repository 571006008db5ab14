package console

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

// TestForecastsNodesAndMoneyOverTime: a forecast is shown at the time that it was made for.
func TestForecastsNodesAndMoneyOverTime(t *testing.T) {
	h := newHistory("", slog.New(slog.DiscardHandler), func() time.Time { return noon }, func(key) {})
	k := key{"shop", "web"}
	for i := range 5 {
		r := decided(noon.Add(time.Duration(i-5)*Step), 2, 2, 10, 0)
		if i < 2 { // what the second pass forecasts takes the place of what the first did
			base := decisionlog.Number(100 * (i + 1))
			r.Services[0].Forecast = &decisionlog.Forecast{Step: decisionlog.Seconds(Step / 2),
				Median: []decisionlog.Number{base, base + 1, base + 2, base + 3},
				High:   []decisionlog.Number{base + 10, base + 11, base + 12, base + 13}}
		}
		if i == 3 {
			r.Nodes = []decisionlog.Node{{}, {Lost: true}, {}}
		}
		h.add(k, nil, r)
	}
	p := h.of(k)
	s := p.series(noon.Add(-time.Hour), "web")
	nan := math.NaN()
	for name, column := range map[string]struct{ got, want Column }{
		"median": {s.Services[0].Median, Column{nan, 102, 202, 203, nan}},
		"high":   {s.Services[0].High, Column{nan, 112, 212, 213, nan}},
		"nodes":  {s.Nodes, Column{nan, nan, nan, 2, nan}},
	} {
		got, _ := column.got.MarshalJSON()
		want, _ := column.want.MarshalJSON()
		if string(got) != string(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if len(s.PerHour) != 5 || !(s.PerHour[0] > 0) || s.Currency == "" {
		t.Errorf("money: %v %q", s.PerHour, s.Currency)
	}
	if len(p.ahead) != 0 {
		t.Errorf("%d forecasts for the past are kept", len(p.ahead))
	}
	r := decided(noon, 2, 2, 10, 0)
	r.Services[0].Forecast = &decisionlog.Forecast{Step: decisionlog.Seconds(Step), Median: make([]decisionlog.Number, 10_000)}
	if h.add(k, nil, r); len(p.ahead) > int(mostAhead/Step) {
		t.Errorf("%d steps of forecasts are kept", len(p.ahead))
	}
}

// TestAPlannedLoadIsShownWhereItIsExpected: of a policy that forecasts by itself; and a share of the SLO is
// kept until another one is stated.
func TestAPlannedLoadIsShownWhereItIsExpected(t *testing.T) {
	h := newHistory("", slog.New(slog.DiscardHandler), func() time.Time { return noon }, func(key) {})
	k := key{"shop", "web"}
	for i := range 4 {
		r := decided(noon.Add(time.Duration(i-4)*Step), 2, 2, 10, 0)
		if i == 0 {
			r.Services[0].Proposal = &decisionlog.Proposal{
				Expects: &decisionlog.LoadAhead{Rate: 42, Within: decisionlog.Seconds(90 * time.Second)}}
			r.Services[0].Outlook = &decisionlog.ServiceOutlook{
				Part: decisionlog.SLO{Percentile: 99, Latency: decisionlog.Seconds(time.Second / 20)}}
		}
		h.add(k, nil, r)
	}
	p := h.of(k)
	s := p.series(noon.Add(-time.Hour), "web").Services[0]
	nan := math.NaN()
	got, _ := s.High.MarshalJSON()
	want, _ := Column{nan, 42, nan, nan}.MarshalJSON()
	if string(got) != string(want) || !math.IsNaN(s.Median[1]) {
		t.Errorf("planned for: %s, want %s; median %v", got, want, s.Median)
	}
	if share := p.shareOf("web"); share == nil || share.Percentile != 99 || share.Latency != 0.05 || p.shareOf("other") != nil {
		t.Errorf("share: %+v", share)
	}
}

// TestAChangeSaysWhatDiffers: memory and limits are named where they change.
func TestAChangeSaysWhatDiffers(t *testing.T) {
	from := loadline.Allocation{Replicas: 2,
		Size: loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20}}
	to := from
	to.Replicas = 3
	for _, row := range []struct {
		name     string
		change   func(*loadline.Allocation)
		was, now string
	}{
		{"replicas alone", func(*loadline.Allocation) {}, "2 replicas of 0.5 cores", "3 replicas of 0.5 cores"},
		{"memory", func(a *loadline.Allocation) { a.Size.MemoryRequest = 96 << 20 },
			"2 replicas of 0.5 cores, 64 MiB", "3 replicas of 0.5 cores, 96 MiB"},
		{"a limit is lifted", func(a *loadline.Allocation) { a.Size.CPULimit = 0 },
			"2 replicas of 0.5 cores, at most 1 core", "3 replicas of 0.5 cores, without a limit of CPU"},
		{"a brownout", func(a *loadline.Allocation) { a.Brownout = true }, "2 replicas of 0.5 cores", "browned out"},
	} {
		other := to
		row.change(&other)
		if was, now := describe(from, other), describe(other, from); was != row.was || now != row.now {
			t.Errorf("%s: %q, %q; want %q, %q", row.name, was, now, row.was, row.now)
		}
	}
}

// TestADecisionAndWhatThenCame: from a decision log on disk and the record in memory.
func TestADecisionAndWhatThenCame(t *testing.T) {
	dir := t.TempDir()
	elected := make(chan struct{})
	close(elected)
	hub := newHub()
	s := &Server{options: Options{Decisions: dir, Elected: elected, Now: func() time.Time { return noon }}, reading: make(chan struct{}, 1),
		history: newHistory(dir, slog.New(slog.DiscardHandler), func() time.Time { return noon }, hub.touch)}
	var l v1alpha1.LoadLine
	l.Namespace, l.Name = "shop", "web"
	ask := func(service, at string) (Decision, error) {
		query := url.Values{"service": {service}, "at": {at}}
		answer, err := s.decision(t.Context(), &l, httptest.NewRequest("GET", "/?"+query.Encode(), nil))
		d, _ := answer.(Decision)
		return d, err
	}
	changed := noon.Add(-20*time.Minute + 1500*time.Millisecond)
	at := changed.Format(time.RFC3339Nano)
	if _, err := ask("web", at); !isFault(err, http.StatusNotFound) {
		t.Errorf("without a log: %v", err)
	}
	log, err := decisionlog.Open(filepath.Join(dir, "shop", "web"), decisionlog.Options{Sync: -1})
	if err != nil {
		t.Fatal(err)
	}
	app := &loadline.App{Name: "shop", Services: []loadline.Service{{Name: "web"}}, Kinds: []loadline.Kind{{Name: "page"}}}
	for i := range 20 {
		replicas, planned, over := 4, 4, 0.0
		switch {
		case i == 0:
			replicas = 2
		case i == 6:
			planned = 5 // ends what came of the first change
		case i > 6:
			replicas, planned, over = 5, 5, 0.5
		case i == 2:
			over = 0.05
		}
		r := decided(changed.Add(time.Duration(i)*Step), replicas, planned, 10+float64(i), over)
		if err := log.Append(app, r); err != nil {
			t.Fatal(err)
		}
		s.history.add(keyOf(&l), app, r)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := ask("web", at)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Changed || d.Text == "" || !d.Record.At.Equal(changed) || len(d.Record.Services) != 1 || *d.Record.Services[0].Plan.Replicas != 4 {
		t.Errorf("the decision is %+v", d.Explanation)
	}
	minute := changed.Truncate(Step)
	if d.Then == nil || !d.Then.From.Equal(minute.Add(Step)) || !d.Then.Until.Equal(minute.Add(6*Step)) || *d.Then.Rate != 15 ||
		d.Then.Latency != nil || *d.Then.OverSLO >= 0.05 || *d.Then.OverSLO <= 0 || !(*d.Then.PerHour > 0) {
		t.Errorf("then came %+v", d.Then)
	}
	if d, err := ask("web", changed.Add(19*Step).Format(time.RFC3339Nano)); err != nil || d.Then != nil {
		t.Errorf("of the last one: %+v, %v", d.Then, err)
	}
	for name, q := range map[string][2]string{"another time": {"web", changed.Add(time.Second).Format(time.RFC3339Nano)},
		"another service": {"<b>", at}} {
		if _, err := ask(q[0], q[1]); !isFault(err, http.StatusNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, q := range [][2]string{{"", at}, {"web", ""}, {"web", "noon"}} {
		if _, err := ask(q[0], q[1]); !isFault(err, http.StatusBadRequest) {
			t.Errorf("%q: %v", q, err)
		}
	}
	if len(s.reading) != 0 {
		t.Error("a turn to read is not given back")
	}
}

func isFault(err error, code int) bool {
	var f fault
	return errors.As(err, &f) && f.code == code
}
