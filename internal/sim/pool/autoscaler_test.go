package pool

import (
	"slices"
	"testing"
	"time"
)

func gb(n int64) int64 { return n << 30 }

func offers(prices ...float64) []Offer {
	var all []Offer
	cores := 2.0
	for i, price := range prices {
		all = append(all, Offer{Pool: 0, Type: i, Room: Room{Free: Amount{cores, gb(int64(cores) * 4)}, Pods: 10}, Price: price})
		cores *= 2
	}
	return all
}

func pods(cores ...float64) []Item {
	var all []Item
	for i, c := range cores {
		all = append(all, Item{ID: i, Need: Amount{c, gb(1)}})
	}
	return all
}

func TestProvision(t *testing.T) {
	for _, c := range []struct {
		name   string
		items  []Item
		coming []Room
		offers []Offer
		may    int
		want   []int
	}{
		{"a small pod gets the cheapest type", pods(0.5), nil, offers(1, 1.9, 3.8), 9, []int{0}},
		{"pods are gathered on one large node", pods(1, 1, 1, 1, 1), nil, offers(1, 1.9, 3.8), 9, []int{2}},
		{"a larger type is taken where it is cheaper", pods(0.5), nil, offers(2, 1, 3.8), 9, []int{1}},
		{"pods beyond the largest type open another node", pods(1.5, 1.5, 1.5), nil, offers(1), 9, []int{0, 0, 0}},
		{"nodes that are coming are filled first", pods(1, 1), []Room{{Free: Amount{2, gb(8)}, Pods: 10}}, offers(1), 9, nil},
		{"what does not fit on them is bought", pods(1, 1, 1), []Room{{Free: Amount{2, gb(8)}, Pods: 10}}, offers(1), 9, []int{0}},
		{"the maximum holds", pods(2, 2, 2), nil, offers(1), 2, []int{0, 0}},
		{"a pod larger than every type waits", pods(9, 1), nil, offers(1, 1.9, 3.8), 9, []int{0}},
		{"memory may decide", []Item{{Need: Amount{0.1, gb(12)}}}, nil, offers(1, 1.9, 3.8), 9, []int{1}},
		{"so may the number of pods", pods(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), nil, offers(1), 9, []int{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Packer
			items := c.items
			if c.name == "so may the number of pods" {
				for i := range items {
					items[i].Need.Memory = 0
				}
			}
			if got := p.Provision(items, c.coming, c.offers, []int{c.may}); !slices.Equal(got, c.want) {
				t.Errorf("buys %v, want %v", got, c.want)
			}
		})
	}
}

func TestConsolidate(t *testing.T) {
	free := func(cores float64) []Room { return []Room{{Free: Amount{cores, gb(64)}, Pods: 10}} }
	for _, c := range []struct {
		name  string
		items []Item
		rooms []Room
		price float64
		want  Verdict
		offer int
	}{
		{"pods that fit elsewhere: delete", pods(1, 0.5), free(1.5), 1.9, Delete, 0},
		{"pods that fit on a cheaper type: replace", pods(1, 0.5), nil, 1.9, Replace, 0},
		{"a type of the same price is no reason", pods(1, 0.5), nil, 1, Keep, 0},
		{"two new nodes are no consolidation", pods(8, 8), nil, 100, Keep, 0},
		{"some fit elsewhere, the rest on a cheaper type", pods(3, 2), free(3), 3.8, Replace, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Packer
			got, offer := p.Consolidate(c.items, c.rooms, offers(1, 1.9, 3.8), []int{9}, c.price)
			if got != c.want || offer != c.offer {
				t.Errorf("verdict %v with offer %d, want %v with %d", got, offer, c.want, c.offer)
			}
		})
	}
}

func TestPodsOfAGroupAreKeptApart(t *testing.T) {
	group := func(of ...int) []Item {
		items := pods(make([]float64, len(of))...)
		for i, g := range of {
			items[i].Need.Cores, items[i].Group = 0.1, g
		}
		return items
	}
	room := func(groups ...int) Room { return Room{Free: Amount{8, gb(32)}, Pods: 10, Groups: groups} }
	for _, c := range []struct {
		name  string
		items []Item
		rooms []Room
		buys  int
		want  Verdict
	}{
		{"each on a node of its own", group(1, 1, 1), nil, 3, Keep},
		{"groups share nodes", group(1, 1, 2, 2), nil, 2, Keep},
		{"a node that has one takes no other", group(1), []Room{room(2, 1)}, 1, Replace},
		{"nor one on which one was just planned", group(1, 1), []Room{room()}, 1, Replace},
		{"a node with other groups takes one of each", group(1, 3), []Room{room(2)}, 0, Delete},
		{"pods without a group go anywhere", group(0, 0, 0), []Room{room(1, 2)}, 0, Delete},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Packer
			if got := p.Provision(c.items, c.rooms, offers(1), []int{9}); len(got) != c.buys {
				t.Errorf("buys %d nodes, want %d", len(got), c.buys)
			}
			if got, _ := p.Consolidate(c.items, c.rooms, offers(1), []int{9}, 2); got != c.want {
				t.Errorf("verdict %v, want %v", got, c.want)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	for _, c := range []struct{ nodes, disrupted, want int }{{1, 0, 1}, {10, 0, 1}, {11, 0, 2}, {30, 2, 1}, {5, 1, 0}} {
		if got := MayDisrupt(0.1, c.nodes, c.disrupted); got != c.want {
			t.Errorf("of %d nodes, %d of them disrupted, %d more may be, want %d", c.nodes, c.disrupted, got, c.want)
		}
	}
	for _, c := range []struct {
		desired, ready int
		last           bool
		want           int
	}{{1, 1, false, 0}, {1, 1, true, 1}, {2, 2, false, 1}, {10, 10, false, 1}, {11, 11, false, 2}, {11, 9, false, 0}, {11, 12, false, 3}} {
		if got := MayEvict(c.desired, c.ready, c.last); got != c.want {
			t.Errorf("of %d desired and %d ready pods %d may be evicted, want %d", c.desired, c.ready, got, c.want)
		}
	}
}

func TestRoomIsWithoutReservationsAndDaemonSets(t *testing.T) {
	p := Pool{Daemons: Amount{0.2, gb(1)}, DaemonPods: 5}
	got := p.Room(Type{Cores: 4, Memory: gb(16), Reserved: &Amount{0.1, gb(2)}})
	if got.Pods != 105 || got.Free.Cores < 3.7-1e-9 || got.Free.Cores > 3.7+1e-9 || got.Free.Memory != gb(13) {
		t.Errorf("room for %v", got)
	}
}

func TestCharge(t *testing.T) {
	node := Type{Cores: 4, Memory: gb(16), Price: 1}
	prices := Prices{CoreHour: 3, GiBHour: 0.25} // of 16: three quarters for cores
	hour := time.Hour
	for _, c := range []struct {
		name         string
		ours, theirs Tenant
		want         float64
	}{
		{"without a tenant nothing is charged", Tenant{}, Tenant{}, 0},
		{"without us nothing is charged", Tenant{}, Tenant{3600, 3600}, 0},
		{"alone we pay what is idle too", Tenant{3600, 3600}, Tenant{}, 1},
		{"each resource is shared", Tenant{3600, 3600}, Tenant{3 * 3600, 3600}, 0.75/4 + 0.25/2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := prices.Charge(node, hour, c.ours, c.theirs); got.Money < c.want-1e-9 || got.Money > c.want+1e-9 {
				t.Errorf("charged %v, want %v", got.Money, c.want)
			}
		})
	}
	// OpenCost's own form: ours + idle*ours/(ours+others), in core hours.
	got := prices.Charge(node, hour, Tenant{1 * 3600, 1}, Tenant{2 * 3600, 1}).CoreSeconds / 3600
	if want := 1 + (4-1-2)*1.0/3; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("%v core hours, want %v", got, want)
	}
}
