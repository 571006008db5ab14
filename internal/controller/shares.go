package controller

import (
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// shares are the servers that LoadLines ask together. LoadLines share one if everything is equal with which
// they reach it: address, credentials by their content, certificates, headers (and with them the tenant) and
// timeout.
type shares struct {
	log *slog.Logger

	mu sync.Mutex
	of map[[sha256.Size]byte]*live.Shared
}

func newShares(log *slog.Logger) *shares {
	return &shares{log: log, of: map[[sha256.Size]byte]*live.Shared{}}
}

// join those who ask a server. Leave must be called once; the last one ends it. A server that cannot be shared is
// asked alone: the LoadLine's own client says why.
func (s *shares) join(server prom.Server, answers *prom.Budget) (shared *live.Shared, leave func()) {
	text, err := json.Marshal(server)
	if err != nil {
		return nil, nil
	}
	key := sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	shared = s.of[key]
	if shared == nil {
		c, err := newClient(server, answers)
		if err != nil {
			return nil, nil
		}
		shared = live.NewShared(c, s.log)
		s.of[key] = shared
	}
	shared.Join()
	return shared, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if shared.Leave() == 0 {
			delete(s.of, key)
		}
	}
}
