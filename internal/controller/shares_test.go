package controller

import (
	"log/slog"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// TestLoadLinesShareWhatIsEqual: LoadLines ask a server together only if they reach it in the same way.
func TestLoadLinesShareWhatIsEqual(t *testing.T) {
	base := func() prom.Server {
		return prom.Server{URL: "http://prometheus:9090", Token: "one", Timeout: 10 * time.Second, Attempts: 2, Unquoted: true,
			Headers: map[string]string{"X-Scope-OrgID": "shop", "X-More": "a"}}
	}
	s := newShares(slog.New(slog.DiscardHandler))
	first, leave := s.join(base(), nil)
	if first == nil {
		t.Fatal("it is not shared")
	}
	second, leaveToo := s.join(base(), nil)
	if second != first {
		t.Error("equal servers are not shared")
	}
	for name, change := range map[string]func(*prom.Server){
		"another address":     func(p *prom.Server) { p.URL = "http://prometheus:9091" },
		"another path":        func(p *prom.Server) { p.URL += "/tenant" },
		"another token":       func(p *prom.Server) { p.Token = "two" },
		"no token":            func(p *prom.Server) { p.Token = "" },
		"another tenant":      func(p *prom.Server) { p.Headers["X-Scope-OrgID"] = "store" },
		"one header less":     func(p *prom.Server) { delete(p.Headers, "X-More") },
		"a user":              func(p *prom.Server) { p.Token, p.Username, p.Password = "", "me", "secret" },
		"another timeout":     func(p *prom.Server) { p.Timeout = time.Minute },
		"another server name": func(p *prom.Server) { p.ServerName = "prometheus" },
		"no verification":     func(p *prom.Server) { p.Insecure = true },
	} {
		t.Run(name, func(t *testing.T) {
			other := base()
			change(&other)
			got, leave := s.join(other, nil)
			if got == nil || got == first {
				t.Error("it is shared")
			}
			leave()
		})
	}
	if len(s.of) != 1 {
		t.Errorf("%d servers are kept, want 1", len(s.of))
	}
	leave()
	leaveToo()
	if len(s.of) != 0 {
		t.Errorf("%d servers are kept after all have left", len(s.of))
	}
}

// TestPassesMeetInSlots: passes of one interval begin at few instants, none later than without slots.
func TestPassesMeetInSlots(t *testing.T) {
	const period = 15 * time.Second
	began := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	met := map[time.Time]int{}
	for i := range 1500 {
		now := began.Add(time.Duration(i) * 10 * time.Millisecond)
		slot := slotOf(now, period)
		if slot.After(now) || now.Sub(slot) >= period/slots {
			t.Fatalf("the slot of %v is %v", now, slot)
		}
		met[slot]++
	}
	if len(met) > slots+1 {
		t.Errorf("passes begin at %d instants, want %d", len(met), slots)
	}
}
