package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/loadline/loadline/internal/sandbox"
)

// Limits of what a page may ask for.
const (
	maxMessage = 64 << 10
	maxDesks   = 4 // pages that are open at once; another one closes the one that was used least recently
	nameLength = 32
)

// nameHeader has the name that a page gave its clusters. A page of another origin cannot send it: the
// browser would have to ask first, and the answer to that is no.
const nameHeader = "X-Loadline-Sandbox"

// Handler serves the page and answers its messages.
type Handler struct {
	settings sandbox.Settings
	files    map[string]file

	mu    sync.Mutex
	desks []*desk // the last was used most recently
}

type file struct {
	kind         string
	plain, small []byte // small is compressed
}

// desk of one page.
type desk struct {
	name string
	mu   sync.Mutex // messages are answered one after another
	of   *sandbox.Desk
	gone bool
}

// NewHandler serves sandboxes of valid settings.
func NewHandler(s sandbox.Settings) *Handler {
	h := &Handler{settings: s, files: map[string]file{"/": packed("text/html; charset=utf-8", index(onServer))}}
	for name, kind := range pageFiles {
		h.files["/"+name] = packed(kind, asset(name))
	}
	return h
}

func packed(kind string, data []byte) file {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // a buffer takes everything
	_ = w.Close()
	return file{kind, data, b.Bytes()}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", contentPolicy(onServer)+"; frame-ancestors 'none'")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	if !loopbackHost(r.Host) {
		http.Error(w, "the sandbox answers to localhost only", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/message" {
		h.message(w, r)
		return
	}
	f, known := h.files[r.URL.Path]
	switch {
	case !known:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	default:
		head.Set("Content-Type", f.kind)
		head.Set("Vary", "Accept-Encoding")
		body := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			head.Set("Content-Encoding", "gzip")
			body = f.small
		}
		_, _ = w.Write(body) // the page has gone
	}
}

// loopbackHost reports whether a request was sent to a name of this machine: a page of another site
// whose name was made to point here has another.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return ip != nil && ip.IsLoopback()
}

// message answers a message of the page.
func (h *Handler) message(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	name := r.Header.Get(nameHeader)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	if kind != "application/json" || len(name) != nameLength ||
		origin != "" && origin != "http://"+r.Host || site != "" && site != "same-origin" {
		http.Error(w, "only the page of the sandbox may send messages", http.StatusForbidden)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the message is too long or was cut off", http.StatusBadRequest)
		return
	}
	// A step is made to its end even if the page has gone: both sides stay at the same instant.
	answer, ok := h.answer(context.WithoutCancel(r.Context()), name, text)
	if !ok {
		http.Error(w, "too many sandboxes are open, and this one was closed: start again", http.StatusGone)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the page has gone
}

func (h *Handler) answer(ctx context.Context, name string, text []byte) ([]byte, bool) {
	d := h.desk(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone {
		return nil, false
	}
	return d.of.Answer(ctx, text), true
}

// desk of a page. The one that was used least recently makes room for a new one.
func (h *Handler) desk(name string) *desk {
	h.mu.Lock()
	i := slices.IndexFunc(h.desks, func(d *desk) bool { return d.name == name })
	var d *desk
	if i >= 0 {
		d = h.desks[i]
		h.desks = slices.Delete(h.desks, i, i+1)
	} else {
		d = &desk{name: name, of: sandbox.NewDesk(h.settings)}
	}
	var over *desk
	if len(h.desks) >= maxDesks {
		over = h.desks[0]
		h.desks = slices.Delete(h.desks, 0, 1)
	}
	h.desks = append(h.desks, d)
	h.mu.Unlock()
	if over != nil {
		over.close()
	}
	return d
}

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
	d.of.Close()
}

// Close ends all sandboxes.
func (h *Handler) Close() {
	h.mu.Lock()
	all := h.desks
	h.desks = nil
	h.mu.Unlock()
	for _, d := range all {
		d.close()
	}
}
