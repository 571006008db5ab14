package slosplit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Cache stores splits by the whole content of their chains, so that only changed chains are
// computed again: another load, profile, size or budget makes another key. It is safe for
// concurrent use.
type Cache struct {
	of Splitter

	mu       sync.Mutex
	entries  map[[sha256.Size]byte]result
	computed int
}

type result struct {
	shares Shares
	err    error
}

// cacheMost is the maximum number of entries: enough for about a hundred applications.
const cacheMost = 4096

// NewCache puts a cache in front of a splitter.
func NewCache(of Splitter) *Cache { return &Cache{of: of, entries: map[[sha256.Size]byte]result{}} }

// Split splits the chain, or returns the cached result.
func (c *Cache) Split(chain *Chain) (Shares, error) {
	text, err := json.Marshal(chain)
	if err != nil {
		return nil, fmt.Errorf("chain of %s: %w", chain.Kind, err)
	}
	key := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, known := c.entries[key]; known {
		return slices.Clone(a.shares), a.err
	}
	if len(c.entries) >= cacheMost {
		clear(c.entries)
	}
	shares, err := c.of.Split(chain)
	c.entries[key] = result{slices.Clone(shares), err}
	c.computed++
	return shares, err
}

// Computed is the number of cache misses.
func (c *Cache) Computed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.computed
}
