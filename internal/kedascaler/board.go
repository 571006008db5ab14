package kedascaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/loadline/loadline/internal/suggest"
)

// Board is a Source that is written to: the controller posts each application's
// decision when it is made, a standby when it finds one in a resource's status.
// It is not ready until SetReady is called, because before that it would return
// "no decision" for services whose decision arrives a moment later.
type Board struct {
	mu      sync.RWMutex
	ready   bool
	posted  map[Name]map[string]Decision // by LoadLine and service
	bound   map[Name]place               // by ScaledObject
	changed chan struct{}
}

// place is a service of a LoadLine.
type place struct {
	loadline Name
	service  string
}

// NewBoard returns an empty one that is not ready.
func NewBoard() *Board {
	return &Board{posted: map[Name]map[string]Decision{}, bound: map[Name]place{}, changed: make(chan struct{})}
}

// SetReady sets whether requests can be answered.
func (b *Board) SetReady(ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ready != ready {
		b.ready = ready
		b.tell()
	}
}

// Post replaces the last good decision of a whole application, by service. The
// map is copied.
func (b *Board) Post(loadline Name, services map[string]Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.posted[loadline]
	b.posted[loadline] = maps.Clone(services)
	// Thousands of streams wait for a change: they are woken only for one that they
	// would send.
	same := func(a, b Decision) bool { return active(a) == active(b) && (a.Withheld == "") == (b.Withheld == "") }
	if !maps.EqualFunc(was, services, same) {
		b.tell()
	}
}

// Bind sets the service that a ScaledObject scales, for triggers that do not name
// it.
func (b *Board) Bind(scaledObject, loadline Name, service string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to := (place{loadline, service}); b.bound[scaledObject] != to {
		b.bound[scaledObject] = to
		b.tell()
	}
}

// Unbind removes the binding of a ScaledObject.
func (b *Board) Unbind(scaledObject Name) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.bound[scaledObject]; there {
		delete(b.bound, scaledObject)
		b.tell()
	}
}

// Forget removes an application and its bindings: it was deleted, or Loadline no
// longer acts on it.
func (b *Board) Forget(loadline Name) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.posted, loadline)
	maps.DeleteFunc(b.bound, func(_ Name, p place) bool { return p.loadline == loadline })
	b.tell()
}

func (b *Board) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed implements Source.
func (b *Board) Changed() <-chan struct{} {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.changed
}

// Ready implements Source.
func (b *Board) Ready() error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.whetherReady()
}

func (b *Board) whetherReady() error {
	if !b.ready {
		return fmt.Errorf("%w: this replica has not synced with the cluster, or is a standby", ErrNotReady)
	}
	return nil
}

// Decision implements Source.
func (b *Board) Decision(t Target) (Decision, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.whetherReady(); err != nil {
		return Decision{}, err
	}
	at, err := b.find(t)
	if err != nil {
		return Decision{}, err
	}
	services, there := b.posted[at.loadline]
	if !there {
		return Decision{}, fmt.Errorf("%w for LoadLine %s%s", ErrUnknown, at.loadline, b.hintLoadLine(at.loadline))
	}
	d, there := services[at.service]
	if !there {
		return Decision{}, fmt.Errorf("%w for service %q of LoadLine %s%s", ErrUnknown, at.service, at.loadline,
			suggest.Hint(at.service, sorted(services)))
	}
	if d.Withheld != "" {
		return Decision{}, fmt.Errorf("%w: %s; KEDA uses the fallback and the other triggers of the ScaledObject, for service %q of LoadLine %s",
			ErrWithheld, d.Withheld, at.service, at.loadline)
	}
	return d, nil
}

// find returns the requested service. The trigger's metadata takes precedence
// over bindings; what it leaves open must be unambiguous.
func (b *Board) find(t Target) (place, error) {
	bound, isBound := b.bound[t.ScaledObject]
	switch {
	case t.LoadLine != Name{} && t.Service != "":
		return place{t.LoadLine, t.Service}, nil
	case t.LoadLine != Name{}:
		if isBound && bound.loadline == t.LoadLine {
			return bound, nil
		}
		services := sorted(b.posted[t.LoadLine])
		if len(services) > 1 {
			return place{}, fmt.Errorf("%w for %s: LoadLine %s has several services; add the metadata \"service\", one of %s",
				ErrUnknown, t, t.LoadLine, strings.Join(services, ", "))
		}
		if len(services) == 1 {
			return place{t.LoadLine, services[0]}, nil
		}
		return place{loadline: t.LoadLine}, nil
	case t.Service != "":
		if isBound && bound.service == t.Service {
			return bound, nil
		}
		return b.findService(t)
	case isBound:
		return bound, nil
	}
	return place{}, fmt.Errorf("%w for %s: no LoadLine scales its target by KEDA; add the metadata \"loadline\" and \"service\"",
		ErrUnknown, t)
}

// findService searches the LoadLines of the ScaledObject's own namespace.
func (b *Board) findService(t Target) (place, error) {
	var in []string
	for loadline, services := range b.posted {
		if _, there := services[t.Service]; there && loadline.Namespace == t.ScaledObject.Namespace {
			in = append(in, loadline.Name)
		}
	}
	slices.Sort(in)
	switch len(in) {
	case 0:
		return place{}, fmt.Errorf("%w for %s: no LoadLine of namespace %s has that service", ErrUnknown, t, t.ScaledObject.Namespace)
	case 1:
		return place{Name{t.ScaledObject.Namespace, in[0]}, t.Service}, nil
	}
	return place{}, fmt.Errorf("%w for %s: several LoadLines have that service; add the metadata \"loadline\", one of %s", ErrUnknown,
		t, strings.Join(in, ", "))
}

// hintLoadLine lists names of the same namespace only: those of other namespaces
// must not be disclosed.
func (b *Board) hintLoadLine(missing Name) string {
	var known []string
	for n := range b.posted {
		if n.Namespace == missing.Namespace {
			known = append(known, n.Name)
		}
	}
	if len(known) == 0 {
		return " yet"
	}
	slices.Sort(known)
	return suggest.Hint(missing.Name, known)
}

func sorted(services map[string]Decision) []string { return slices.Sorted(maps.Keys(services)) }
