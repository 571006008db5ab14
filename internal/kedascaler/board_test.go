package kedascaler

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// told reports whether a channel of changes has been closed.
func closed(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}

func TestBoardFindsWhatATriggerMeans(t *testing.T) {
	b := NewBoard()
	b.SetReady(true)
	shop, blog, other := Name{"shop", "main"}, Name{"shop", "blog"}, Name{"web", "main"}
	b.Post(shop, map[string]Decision{"cart": {Replicas: 3, Made: noon}, "pay": {Replicas: 4, Made: noon}})
	b.Post(blog, map[string]Decision{"posts": {Replicas: 5, Made: noon}, "pay": {Replicas: 6, Made: noon}})
	b.Post(other, map[string]Decision{"front": {Replicas: 7, Made: noon}})
	b.Bind(Name{"shop", "bound"}, shop, "pay")

	so := Name{"shop", "so"}
	for _, c := range []struct {
		name   string
		target Target
		want   int    // replicas; 0 = unknown
		says   string // of what is unknown
	}{
		{"both are named", Target{so, shop, "cart"}, 3, ""},
		{"in another namespace", Target{so, other, "front"}, 7, ""},
		{"the only service of a LoadLine", Target{ScaledObject: so, LoadLine: other}, 7, ""},
		{"one of several services", Target{ScaledObject: so, LoadLine: shop}, 0, "one of cart, pay"},
		{"a LoadLine of which nothing is known", Target{ScaledObject: so, LoadLine: Name{"none", "main"}}, 0, "none/main yet"},
		{"a service of one LoadLine in the namespace", Target{ScaledObject: so, Service: "posts"}, 5, ""},
		{"a service of two", Target{ScaledObject: so, Service: "pay"}, 0, "one of blog, main"},
		{"a service in another namespace only", Target{ScaledObject: so, Service: "front"}, 0, "no LoadLine of namespace shop"},
		{"bound", Target{ScaledObject: Name{"shop", "bound"}}, 4, ""},
		{"bound, the LoadLine named", Target{ScaledObject: Name{"shop", "bound"}, LoadLine: shop}, 4, ""},
		{"bound, the service named", Target{ScaledObject: Name{"shop", "bound"}, Service: "pay"}, 4, ""},
		{"bound, but something else is named", Target{Name{"shop", "bound"}, shop, "cart"}, 3, ""},
		{"neither bound nor named", Target{ScaledObject: so}, 0, `add the metadata "loadline"`},
		{"a slip in the service", Target{so, shop, "crat"}, 0, `did you mean "cart"`},
		{"a slip in the LoadLine", Target{so, Name{"shop", "mian"}, "cart"}, 0, `did you mean "main"`},
		{"nothing of another namespace is shown", Target{so, Name{"none", "main"}, "cart"}, 0, "none/main yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := b.Decision(c.target)
			if c.want > 0 {
				if err != nil || d.Replicas != c.want {
					t.Errorf("got %+v, %v, want %d replicas", d, err, c.want)
				}
				return
			}
			if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %+v, %v, want it unknown, saying %q", d, err, c.says)
			}
		})
	}

	b.Forget(shop)
	if _, err := b.Decision(Target{ScaledObject: Name{"shop", "bound"}}); !errors.Is(err, ErrUnknown) {
		t.Errorf("after Forget: %v", err)
	}
	b.SetReady(false)
	if _, err := b.Decision(Target{so, other, "front"}); !errors.Is(err, ErrNotReady) {
		t.Errorf("not ready: %v", err)
	}
}

func TestBoardTellsOnlyWhatStreamsWouldTell(t *testing.T) {
	b := NewBoard()
	app := Name{"shop", "main"}
	post := func(replicas int) func() {
		return func() { b.Post(app, map[string]Decision{"cart": {Replicas: replicas, Made: noon}}) }
	}
	for _, c := range []struct {
		name     string
		do       func()
		notified bool
	}{
		{"ready", func() { b.SetReady(true) }, true},
		{"ready again", func() { b.SetReady(true) }, false},
		{"the first decision", post(3), true},
		{"another number", post(7), false},
		{"down to nothing", post(0), true},
		{"nothing again", post(0), false},
		{"up again", post(1), true},
		{"withheld", func() { b.Post(app, map[string]Decision{"cart": {Replicas: 1, Made: noon, Withheld: "a reason"}}) }, true},
		{"given again", post(1), true},
		{"bound", func() { b.Bind(Name{"shop", "so"}, app, "cart") }, true},
		{"bound again", func() { b.Bind(Name{"shop", "so"}, app, "cart") }, false},
		{"unbound", func() { b.Unbind(Name{"shop", "so"}) }, true},
		{"unbound again", func() { b.Unbind(Name{"shop", "so"}) }, false},
		{"forgotten", func() { b.Forget(app) }, true},
		{"ready no more", func() { b.SetReady(false) }, true},
	} {
		changed := b.Changed()
		c.do()
		if closed(changed) != c.notified {
			t.Errorf("%s: notified is %t", c.name, !c.notified)
		}
	}
}

func TestBoardKeepsItsOwnCopy(t *testing.T) {
	b := NewBoard()
	b.SetReady(true)
	services := map[string]Decision{"cart": {Replicas: 3, Made: noon}}
	b.Post(Name{"shop", "main"}, services)
	services["cart"] = Decision{Replicas: 99, Made: noon}
	if d, err := b.Decision(Target{ScaledObject: Name{"shop", "so"}, Service: "cart"}); err != nil || d.Replicas != 3 {
		t.Errorf("got %+v, %v", d, err)
	}
}
