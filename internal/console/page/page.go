// Package page is the console's page: one document, one script and one style sheet, built from
// web/src/console. It holds nothing of the cluster; the script asks the console for that, with the
// user's token.
package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// assets are built by make generate.
//
//go:embed assets
var assets embed.FS

// Access is how the script gets what it may ask with.
type Access string

// Kinds of access.
const (
	// ByToken: the user gives a token of the cluster.
	ByToken Access = "token"
	// ByFragment: the address that loadline ui prints has it after the #.
	ByFragment Access = "fragment"
)

// ContentPolicy lets the page load its own files only, and nothing embed it.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:image/svg+xml,%%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%%3E%%3Ccircle cx='8' cy='8' r='5' fill='none' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3Cpath d='M1 8h14' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3C/svg%%3E">
<title>Loadline</title>
<link rel="stylesheet" href="console.css">
<script src="console.js" defer></script>
</head>
<body data-access="%s">
<noscript>The page is drawn by the script beside it; allow it to run. Nothing is loaded from anywhere else.</noscript>
</body>
</html>
`

// file is one of the page's, as it is and compressed.
type file struct {
	kind         string
	plain, small []byte
}

// files of the page by their path, compressed once.
var files = sync.OnceValue(func() map[string]file {
	return map[string]file{
		"/console.js":  packed("text/javascript; charset=utf-8", asset("console.js")),
		"/console.css": packed("text/css; charset=utf-8", asset("console.css")),
	}
})

func asset(name string) []byte {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("console/page: %v: run make generate", err)) // the names are constants, and a test reads each
	}
	return data
}

func packed(kind string, data []byte) file {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // a buffer takes everything
	_ = w.Close()
	return file{kind, data, b.Bytes()}
}

// Has reports whether a path is one of the page's.
func Has(path string) bool {
	_, has := files()[path]
	return has || path == "/"
}

// Handler serves the page. Headers for security are the caller's.
func Handler(a Access) http.Handler {
	index := packed("text/html; charset=utf-8", fmt.Appendf(nil, document, a))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, has := files()[r.URL.Path]
		switch {
		case r.URL.Path == "/":
			f = index
		case !has:
			http.NotFound(w, r)
			return
		}
		head := w.Header()
		head.Set("Content-Type", f.kind)
		head.Set("Vary", "Accept-Encoding")
		body := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			head.Set("Content-Encoding", "gzip")
			body = f.small
		}
		_, _ = w.Write(body) // the viewer has gone
	})
}
