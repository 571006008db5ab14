package cli

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"

	"github.com/loadline/loadline/internal/console/page"
)

// apiPath is where the console's answers are.
const apiPath = "/api/v1/"

// uiHandler serves the page, and passes what it asks on to the console with the user's kubeconfig.
type uiHandler struct {
	key   string
	page  http.Handler
	proxy http.Handler
}

func newUIHandler(asked *consoleClient, key string) (*uiHandler, error) {
	base, err := url.Parse(asked.base)
	if err != nil {
		return nil, fmt.Errorf("address of the console: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: asked.http.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(base)
			p.Out.Header = http.Header{"Accept": p.In.Header["Accept"]} // nothing of the browser's
		},
		ModifyResponse: func(answer *http.Response) error {
			kept := http.Header{}
			for _, name := range []string{"Content-Type", "Content-Length"} {
				if v := answer.Header.Get(name); v != "" {
					kept.Set(name, v)
				}
			}
			answer.Header = kept
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errNoUserToken) {
				refuse(w, http.StatusUnauthorized, err.Error()+"; loadline ui --token-file names a file with one")
				return
			}
			refuse(w, http.StatusBadGateway, "the console does not answer: "+err.Error())
		},
	}
	return &uiHandler{key: key, page: page.Handler(page.ByFragment), proxy: proxy}, nil
}

// ServeHTTP implements http.Handler.
func (h *uiHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", page.ContentPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	key, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case !loopbackName(r.Host): // a name of another site that leads here
		refuse(w, http.StatusMisdirectedRequest, "loadline ui answers to localhost only")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "the page only reads")
	case r.ContentLength != 0:
		refuse(w, http.StatusRequestEntityTooLarge, "a request has no body")
	case page.Has(r.URL.Path): // it says nothing of the cluster
		h.page.ServeHTTP(w, r)
	case site != "" && site != "same-origin":
		refuse(w, http.StatusForbidden, "requests from pages of other sites are not answered")
	case !given || subtle.ConstantTimeCompare([]byte(key), []byte(h.key)) != 1:
		refuse(w, http.StatusUnauthorized, "the key of this run is needed: open the address that loadline ui printed")
	case !strings.HasPrefix(r.URL.Path, apiPath) || path.Clean(r.URL.Path) != r.URL.Path || r.URL.RawPath != "":
		refuse(w, http.StatusNotFound, "the console has no such path")
	default:
		h.proxy.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // the page has gone
}

// loopbackName reports whether a host, with or without a port, is this machine.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
