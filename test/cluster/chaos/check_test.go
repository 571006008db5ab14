package chaos

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds*1000+0.5) * time.Millisecond)
}

// clean is the record of a run in which everything was as promised: two processes, one of which
// takes over, a rise, a reduction, a brownout, an outage of the exporters, a full disk.
func clean() *Record {
	r := &Record{
		Seed: 7, Began: at(0), Ended: at(180),
		Settings: Settings{MaxAge: 10 * time.Second, Window: 10 * time.Second, Settle: time.Second, Interval: 2 * time.Second,
			Disk: 1 << 20, Subject: "shop", Rule: "rule"},
		Specs: []Spec{
			{At: at(0), App: "shop", Services: []ServiceSpec{{Name: "web", Min: 1, Max: 12}, {Name: "ads", Min: 1, Max: 5, Optional: true}}},
			{At: at(100), App: "shop", Services: []ServiceSpec{{Name: "web", Min: 2, Max: 8}, {Name: "ads", Min: 1, Max: 5, Optional: true}}},
		},
		Faults: []Happened{
			{Kind: ExportersDown, Begin: at(40), End: at(60)},
			{Kind: FillDisk, Begin: at(110), End: at(120)},
			{Kind: HalfOfExporters, Begin: at(130), End: at(155), Pods: []string{"shop/web-1", "shop/web-2"}},
		},
		Holders:   []Holder{{at(1), "host_a", "a#1"}, {at(90), "host_b", "b#1"}},
		Processes: []Process{{Name: "a#1", Began: at(0), Ended: at(75), Killed: true}, {Name: "b#1", Began: at(0), Ended: at(181)}},
		Outcomes:  []Outcome{{at(180), "shop", 20_000, 300}, {at(180), "rule", 20_000, 400}},
		Left:      []Left{{App: "shop", Service: "web", Replicas: 3}, {App: "shop", Service: "ads", Replicas: 2}},
	}
	for i := range 4 {
		r.Pods = append(r.Pods, Pod{App: "shop", Service: "web", Name: "web-" + string(rune('1'+i)), Ready: at(5)})
	}
	version := 0
	scale := func(process, service string, seconds float64, from, to int, why string) {
		version++
		v := "v" + string(rune('a'+version))
		if why != "" {
			r.Decisions = append(r.Decisions, Decision{Process: process, App: "shop", Service: service, At: at(seconds), Applied: at(seconds + 0.1),
				From: from, To: to, Planned: true, Brownout: from == 0 || to == 0, Why: why, Visible: true})
		}
		r.Writes = append(r.Writes, Write{at(seconds + 0.2), process, "shop", service, to, 200, v})
		r.Changes = append(r.Changes, Change{At: at(seconds + 0.3), App: "shop", Service: service, From: from, To: to, Manager: Manager,
			Version: v})
	}
	scale("a#1", "web", 20, 2, 6, "CPU at 90 % of the request")
	scale("a#1", "web", 45, 6, 5, "CPU at 40 % of the request") // what was measured before the outage is fresh enough
	scale("a#1", "ads", 65, 2, 0, "the error budget burns")
	scale("a#1", "web", 74.9, 5, 7, "") // killed before it could record that
	scale("b#1", "ads", 95, 0, 2, "")   // it is not optional any more
	r.Logged = append(r.Logged, Logged{"b#1", "shop", "ads", 2, "it is not optional any more", true})
	scale("b#1", "web", 115, 7, 6, "") // the disk is full
	r.Logged = append(r.Logged, Logged{"b#1", "shop", "web", 6, "CPU at 40 % of the request", false})
	scale("b#1", "web", 135, 6, 5, "CPU at 30 % of the request")
	unanswered := &r.Writes[len(r.Writes)-1] // it was stored all the same
	unanswered.Code, unanswered.Version = 0, ""
	scale("b#1", "web", 170, 5, 3, "CPU at 30 % of the request")
	for second := 2.5; second < 168; second += 2 { // passes that changed nothing
		process := "a#1"
		if second > 90 {
			process = "b#1"
		}
		if second > 74 && second < 90 || second > 109 && second < 121 { // nobody leads, and the disk is full
			continue
		}
		r.Decisions = append(r.Decisions, Decision{Process: process, App: "shop", Service: "web", At: at(second), Visible: true})
	}
	slices.SortStableFunc(r.Decisions, func(a, b Decision) int { return a.At.Compare(b.At) })
	for i := range 130 {
		u := Usage{Process: "b#1", At: at(90 + float64(i)), Heap: 30 << 20, Goroutines: 120, Series: 200, Disk: int64(1000 * i)}
		if i < 40 { // on standby
			u = Usage{Process: "b#1", At: at(2 * float64(i)), Heap: 6 << 20, Goroutines: 20, Series: 5}
		}
		r.Usage = append(r.Usage, u)
	}
	return r
}

func TestACleanRecordPasses(t *testing.T) {
	for _, v := range everything(clean()) {
		t.Error(v)
	}
}

func everything(r *Record) []Violation { return append(Check(r), CheckBurn(r)...) }

// TestBurnIsOfAllRuns: a share of one run is chance, that of all of them is not.
func TestBurnIsOfAllRuns(t *testing.T) {
	bad := clean()
	bad.Outcomes[0].Over = 1800
	if found := CheckBurn(bad); len(found) != 1 {
		t.Errorf("a bad run alone: %v", found)
	}
	other := clean() // the applications of each run are in namespaces of their own
	other.Settings.Subject, other.Settings.Rule = "shop-2", "rule-2"
	other.Outcomes[0].App, other.Outcomes[1].App = "shop-2", "rule-2"
	if found := CheckBurn(bad, other, clean(), clean()); len(found) != 0 {
		t.Errorf("a bad run among good ones: %v", found)
	}
	if found := CheckBurn(bad, clean(), bad); len(found) != 1 {
		t.Errorf("two bad runs of three: %v", found)
	}
}

// TestTheCheckerFindsPlantedFaults: each check finds what it is for, and the others stay silent.
func TestTheCheckerFindsPlantedFaults(t *testing.T) {
	last := func(r *Record) int { return changed(r, 170) }
	for _, c := range []struct {
		name, check, says string
		plant             func(r *Record)
	}{
		{"a replica count beyond the maximum", "bounds", "from 5 to 9", func(r *Record) { set(r, last(r), 9) }},
		{"a replica count below the minimum", "bounds", "from 5 to 1", func(r *Record) { set(r, last(r), 1); r.Left[0].Replicas = 2 }},
		{"a maximum that was lowered is exceeded further", "bounds", "from 9 to 10", func(r *Record) {
			r.Decisions[last(r)].From = 9
			set(r, last(r), 10)
		}},
		{"replicas beyond the bounds are left", "bounds", "after the run", func(r *Record) { r.Left[0].Replicas = 9 }},
		{"a reduction while the exporters are down", "absent", "the exporters are down since", func(r *Record) {
			move(r, changed(r, 45), at(52))
		}},
		{"a reduction before the window is filled", "absent", "is not filled yet", func(r *Record) { move(r, changed(r, 45), at(63)) }},
		{"a reduction although nothing was measured", "absent", "neither the rate nor the CPU", func(r *Record) {
			r.Decisions[last(r)].Visible = false
		}},
		{"a reduction while half of the pods are missing", "absent", "2 of 4 ready pods", func(r *Record) { move(r, changed(r, 135), at(150)) }},
		{"a change without a record", "record", "there is no decision", func(r *Record) { r.Decisions = r.Decisions[:last(r)] }},
		{"a change without a reason", "record", "no reason", func(r *Record) { r.Decisions[last(r)].Why = "" }},
		{"a change that no process has sent", "record", "no process has sent", func(r *Record) {
			r.Writes = r.Writes[:len(r.Writes)-1]
		}},
		{"a change while the disk is full that is nowhere", "record", "there is no decision", func(r *Record) { r.Logged = r.Logged[:1] }},
		{"a brownout that ends without a reason", "record", "there is no decision", func(r *Record) { r.Logged = r.Logged[1:] }},
		{"two leaders apply", "leader", "while b#1 held the lease", func(r *Record) { r.Holders[1].At = at(62) }},
		{"a write before the lease was taken", "leader", "no process held", func(r *Record) { r.Holders[0].At = at(30) }},
		{"an unanswered write while another process leads", "leader", "while a#1 held the lease", func(r *Record) {
			r.Holders = append(r.Holders, Holder{at(134), "host_a", "a#1"}, Holder{at(136), "host_b", "b#1"})
		}},
		{"a decision that is applied twice", "once", "twice by the decision", func(r *Record) {
			r.Writes = append(r.Writes, Write{at(172), "b#1", "shop", "web", 3, 200, "again"})
			r.Changes = append(r.Changes, Change{At: at(172), App: "shop", Service: "web", From: 5, To: 3, Manager: Manager, Version: "again"})
		}},
		{"a decision made for other replicas", "once", "made for 4", func(r *Record) { r.Decisions[last(r)].From = 4 }},
		{"a brownout that is never undone", "brownout", "is not undone: 0 replicas", func(r *Record) {
			r.Left[1] = Left{App: "shop", Service: "ads", BrownedOut: true, Finalizer: true}
		}},
		{"a finalizer that is left", "brownout", "finalizer: true", func(r *Record) { r.Left[1].Finalizer = true }},
		{"more burn than the rule's", "burn", "9.00 % of the requests of the subject", func(r *Record) { r.Outcomes[0].Over = 1800 }},
		{"a heap that grows", "flat", "heap bytes of b#1", func(r *Record) {
			for i := range r.Usage {
				r.Usage[i].Heap = float64(i) * (2 << 20)
			}
		}},
		{"series that are not forgotten", "flat", "series of b#1", func(r *Record) {
			for i := range r.Usage {
				r.Usage[i].Series = float64(100 + 10*i)
			}
		}},
		{"goroutines that do not end", "flat", "goroutines of b#1", func(r *Record) {
			for i := range r.Usage {
				r.Usage[i].Goroutines = float64(100 + 10*i)
			}
		}},
		{"a decision log beyond its limit", "flat", "decision logs of b#1", func(r *Record) { r.Usage[129].Disk = 2 << 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := clean()
			c.plant(r)
			found := everything(r)
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			for _, v := range found {
				if v.Check != c.check || !strings.Contains(v.String(), c.says) {
					t.Errorf("found %v; want the check %s to say %q", v, c.check, c.says)
				}
			}
		})
	}
}

// changed is the index of the decision at an instant.
func changed(r *Record, second float64) int {
	return slices.IndexFunc(r.Decisions, func(d Decision) bool { return d.At.Equal(at(second)) })
}

// set the replicas that a decision, its write and its change lead to.
func set(r *Record, decision, to int) {
	d := &r.Decisions[decision]
	for i := range r.Writes {
		if w := &r.Writes[i]; w.Received.Equal(d.At.Add(200 * time.Millisecond)) {
			w.Replicas = to
			r.Changes[i].To, r.Changes[i].From = to, d.From
		}
	}
	d.To = to
}

// move a decision, its write and its change to another time.
func move(r *Record, decision int, to time.Time) {
	d := &r.Decisions[decision]
	for i := range r.Writes {
		if w := &r.Writes[i]; w.Received.Equal(d.At.Add(200 * time.Millisecond)) {
			w.Received = to.Add(200 * time.Millisecond)
			r.Changes[i].At = to.Add(300 * time.Millisecond)
		}
	}
	d.At, d.Applied = to, to.Add(100*time.Millisecond)
}

func TestARecordIsReadAsItWasSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	r := clean()
	r.Outcomes[0].Over = 1800
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := everything(r), everything(again); len(a) != 1 || len(b) != 1 || a[0] != b[0] {
		t.Errorf("%v before, %v after", a, b)
	}
}
