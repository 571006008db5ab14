package drpc

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// shopModel is a model with the shop's services in another order.
func shopModel(t testing.TB) *Model {
	t.Helper()
	m := &Model{App: "shop", Services: []string{"ads", "front", "cart"}, Shape: Shared, Period: 30 * time.Second, Pace: DefaultPace(),
		Reward: DefaultReward(), Forecasts: make([]*forecast.GRU, 3)}
	for range m.Services {
		net, err := nn.Student().Build(nn.PyTorchUniform, rl.NewRNG(1, 1).Rand)
		if err != nil {
			t.Fatal(err)
		}
		m.Students = append(m.Students, net)
	}
	return m
}

// another is the shop with its services and kinds in another order.
func another() *loadline.App {
	app := shop()
	order := []int{2, 0, 1}
	var services []loadline.Service
	for _, i := range order {
		services = append(services, app.Services[i])
	}
	var move func(c *loadline.Call)
	move = func(c *loadline.Call) {
		c.Service = slices.Index(order, c.Service)
		for _, stage := range c.Stages {
			for i := range stage {
				move(&stage[i])
			}
		}
	}
	for k := range app.Kinds {
		move(&app.Kinds[k].Root)
	}
	app.Services = services
	slices.Reverse(app.Kinds)
	return app
}

func snapshot(t testing.TB) Snapshot {
	t.Helper()
	app := shop()
	w, err := NewSnapshotMaker(shopModel(t), app, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := calm(app)
	s.Now().Kinds[0].Rate = seen(30)
	s.InFlight[2].Replicas = 4
	got, missing, made := w.Observe(noon, s)
	if !made {
		t.Fatalf("%s was missing", missing)
	}
	return got
}

// TestASnapshot is the same at the receiver, whatever the order of services there.
func TestASnapshot(t *testing.T) {
	sent := snapshot(t)
	if sent.Epoch != 7 || sent.Sequence != 1 || !sent.Scored || sent.Score.QoS != 1 {
		t.Errorf("%+v", sent)
	}
	b, err := sent.AppendBinary(nil)
	if err != nil || len(b) != snapshotBytes(3, 2, 2) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	var got Snapshot
	if err := got.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	for _, app := range []*loadline.App{shop(), another()} {
		encoder, err := NewEncoder(app)
		if err != nil {
			t.Fatal(err)
		}
		var view View
		mix, err := encoder.Decode(&got, Shared, &view)
		if err != nil {
			t.Fatal(err)
		}
		ads, buy := app.ServiceIndex("ads"), slices.IndexFunc(app.Kinds, func(k loadline.Kind) bool { return k.Name == "buy" })
		if view.Besides[ads][0] <= view.Besides[app.ServiceIndex("cart")][0] || mix[buy] != 0.75 {
			t.Errorf("besides %v, mix %v", view.Besides, mix)
		}
		if n := len(encoder.Encode(Shared, &view, nil)); n != encoder.Width(Shared) {
			t.Errorf("%d values, want %d", n, encoder.Width(Shared))
		}
	}
	// Decoded there it is what the teacher would have observed here.
	app := shop()
	encoder, err := NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	s := calm(app)
	s.Now().Kinds[0].Rate = seen(30)
	s.InFlight[2].Replicas = 4
	locals := make([]Local, 3)
	for i := range locals {
		encoder.Local(s, i, &locals[i])
	}
	for _, shape := range Shapes() {
		var view View
		if _, err := encoder.Decode(&got, shape, &view); err != nil {
			t.Fatal(err)
		}
		if here, there := encoder.Global(shape, s, locals, nil), encoder.Encode(shape, &view, nil); !slices.Equal(here, there) {
			t.Errorf("%s: %v there, %v here", shape, there, here)
		}
	}
}

func TestSnapshotsThatDoNotFitAreRefused(t *testing.T) {
	sent := snapshot(t)
	b, err := sent.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range b {
		if err := new(Snapshot).UnmarshalBinary(b[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were taken for a snapshot", cut, len(b))
		}
	}
	for i := range b {
		turned := slices.Clone(b)
		turned[i] ^= 1
		if err := new(Snapshot).UnmarshalBinary(turned); err == nil {
			t.Fatalf("byte %d was changed without an error", i)
		}
	}
	endless := snapshot(t)
	endless.Score.Reward = math.NaN()
	if b, err = endless.AppendBinary(nil); err != nil {
		t.Fatal(err)
	}
	if err := new(Snapshot).UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("%v", err)
	}
	other := shop()
	other.Services[1].Name = "basket"
	encoder, err := NewEncoder(other)
	if err != nil {
		t.Fatal(err)
	}
	var view View
	if _, err := encoder.Decode(&sent, Shared, &view); !errors.Is(err, ErrUnfit) {
		t.Errorf("of another application: %v", err)
	}
	fewer := shop()
	fewer.Nodes = fewer.Nodes[:1]
	if encoder, err = NewEncoder(fewer); err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Decode(&sent, Plain, &view); !errors.Is(err, ErrUnfit) {
		t.Errorf("of more machines, for a plain teacher: %v", err)
	}
	if _, err := encoder.Decode(&sent, Shared, &view); err != nil {
		t.Errorf("of more machines, for a shared one: %v", err)
	}
}

func FuzzSnapshot(f *testing.F) {
	s := snapshot(f)
	b, err := s.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Snapshot
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if _, err := s.AppendBinary(nil); err != nil {
			t.Error(err)
		}
	})
}

// TestASnapshotIsMadeOncePerPeriod, and what is missing is reported.
func TestASnapshotIsMadeOncePerPeriod(t *testing.T) {
	app := shop()
	w, err := NewSnapshotMaker(shopModel(t), app, 1)
	if err != nil {
		t.Fatal(err)
	}
	count, absent := 0, 0
	for beat := range 60 { // ten minutes
		s := calm(app)
		if beat >= 30 {
			s.Now().Services[1].CPU = loadline.Sample{}
		}
		_, missing, made := w.Observe(noon.Add(time.Duration(beat)*10*time.Second), s)
		if made {
			count++
		}
		if missing != "" {
			absent++
			if missing != "cpu of cart" {
				t.Fatalf("%q is missing", missing)
			}
		}
	}
	// The last observation is used for five periods.
	if count != 10+5 || absent != 5 {
		t.Errorf("%d snapshots and %d periods without one, want 15 and 5", count, absent)
	}
	if _, err := NewSnapshotMaker(shopModel(t), &loadline.App{Name: "half", Services: app.Services[:2]}, 1); err == nil ||
		!strings.Contains(err.Error(), `service "ads"`) {
		t.Errorf("half of the application: %v", err)
	}
}
