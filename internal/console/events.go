package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

const (
	// updateEvery is the shortest time between two batches of updates of one stream.
	updateEvery = time.Second
	// beatEvery is how often a silent stream shows that it lives, and its token is checked again.
	beatEvery = 15 * time.Second
	// sendWithin is how long a viewer may take to accept a batch.
	sendWithin = 10 * time.Second
)

// hub knows which applications have changed, for each stream.
type hub struct {
	mu      sync.Mutex
	streams map[*stream]bool
	users   map[[32]byte]int
}

// stream is one viewer.
type stream struct {
	user    [32]byte
	pending map[key]bool // changed, and not sent yet
	wake    chan struct{}
}

func newHub() *hub { return &hub{streams: map[*stream]bool{}, users: map[[32]byte]int{}} }

// touch marks an application as changed.
func (h *hub) touch(k key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		s.pending[k] = true
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (h *hub) open(u user) (*stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= mostStreams || h.users[u.key] >= mostPerUser {
		return nil, false
	}
	s := &stream{user: u.key, pending: map[key]bool{}, wake: make(chan struct{}, 1)}
	h.streams[s] = true
	h.users[u.key]++
	return s, true
}

func (h *hub) close(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if h.users[s.user]--; h.users[s.user] == 0 {
		delete(h.users, s.user)
	}
}

// take what has changed since the last time.
func (h *hub) take(s *stream) map[key]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := s.pending
	s.pending = map[key]bool{}
	return changed
}

// events streams the applications that a user may read: each when the stream begins and when it
// changes ("application"), and its name when it is gone, or may no longer be read ("gone").
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	u, err := s.access.userOf(ctx, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	namespace := r.URL.Query().Get("namespace")
	mine, ok := s.hub.open(u)
	if !ok {
		fail(w, http.StatusTooManyRequests, "too many streams are open: close one, or try again later")
		return
	}
	defer s.hub.close(mine)
	first, err := s.readable(ctx, u, namespace)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	v := viewer{s: s, u: u, w: w, control: http.NewResponseController(w), namespace: namespace, shown: map[key]bool{}}
	for i := range first {
		v.show(&first[i])
	}
	v.line(": ready\n\n")
	if v.flush() != nil {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if now, err := s.access.userOf(ctx, r); err != nil || now.key != u.key {
				return // the token is not valid any more
			}
			v.line(": beat\n\n")
		case <-mine.wake:
			for k := range s.hub.take(mine) {
				v.update(ctx, k)
			}
		}
		if v.flush() != nil {
			return
		}
		select { // not more often
		case <-ctx.Done():
			return
		case <-time.After(updateEvery):
		}
	}
}

// viewer is one end of a stream.
type viewer struct {
	s         *Server
	u         user
	w         http.ResponseWriter
	control   *http.ResponseController
	namespace string
	shown     map[key]bool
	out       bytes.Buffer
}

// update an application, or say that it is gone.
func (v *viewer) update(ctx context.Context, k key) {
	if v.namespace != "" && k.namespace != v.namespace {
		return
	}
	may, err := v.s.access.mayList(ctx, v.u, k.namespace)
	if err != nil {
		return // the next change is sent
	}
	var l v1alpha1.LoadLine
	if may {
		err = v.s.options.Client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name}, &l)
		may = err == nil && v.s.ours(&l)
	}
	switch {
	case may:
		v.show(&l)
	case v.shown[k]:
		delete(v.shown, k)
		v.event("gone", map[string]string{"namespace": k.namespace, "name": k.name})
	}
}

func (v *viewer) show(l *v1alpha1.LoadLine) {
	v.shown[keyOf(l)] = true
	v.event("application", summary(l, v.s.pastOf(l)))
}

func (v *viewer) event(kind string, data any) {
	text, err := json.Marshal(data)
	if err == nil {
		v.line(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, text))
	}
}

func (v *viewer) line(text string) { v.out.WriteString(text) }

// flush what was written. A viewer that does not read is given up.
func (v *viewer) flush() error {
	_ = v.control.SetWriteDeadline(time.Now().Add(sendWithin))
	_, err := v.w.Write(v.out.Bytes())
	v.out.Reset()
	if err == nil {
		err = v.control.Flush()
	}
	return err
}
