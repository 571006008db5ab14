package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// mostPage is the limit of the whole page, compressed, in bytes.
const mostPage = 300_000

func get(t *testing.T, path string, compressed bool) (int, http.Header, []byte) {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	if compressed {
		r.Header.Set("Accept-Encoding", "br, gzip")
	}
	w := httptest.NewRecorder()
	Handler(ByToken).ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.Bytes()
}

// TestThePageIsSmall: what a browser loads, compressed as it is served.
func TestThePageIsSmall(t *testing.T) {
	total := 0
	for path := range map[string]bool{"/": true, "/console.js": true, "/console.css": true} {
		code, head, small := get(t, path, true)
		if code != http.StatusOK || head.Get("Content-Encoding") != "gzip" || head.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d, %v", path, code, head)
		}
		total += len(small)
		unpacked, err := gzip.NewReader(bytes.NewReader(small))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, plain := get(t, path, false); len(plain) == 0 || !bytes.Equal(text, plain) {
			t.Errorf("%s: %d bytes plain, %d unpacked", path, len(plain), len(text))
		}
	}
	if t.Logf("the page has %d bytes, compressed", total); total > mostPage {
		t.Errorf("more than %d: look for what it does not need", mostPage)
	}
}

// TestThePageLoadsNothingElse: no address of another host, no script or style within the document.
func TestThePageLoadsNothingElse(t *testing.T) {
	_, _, document := get(t, "/", false)
	for _, what := range []string{"<script>", "<style", "style=", "onload", "http:", "https:"} {
		text := strings.ReplaceAll(string(document), "http://www.w3.org/2000/svg", "") // a name, not an address
		if strings.Contains(text, what) {
			t.Errorf("the document has %s", what)
		}
	}
	_, _, script := get(t, "/console.js", false)
	_, _, style := get(t, "/console.css", false)
	for _, text := range []string{string(script), string(style)} {
		for _, address := range regexp.MustCompile(`https?://[^"'\x60\s)]+`).FindAllString(text, -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") {
				t.Errorf("an asset has the address %s", address)
			}
		}
		if strings.Contains(text, "innerHTML=") || strings.Contains(text, "insertAdjacentHTML") || strings.Contains(text, "document.write") {
			t.Error("an asset makes elements of text")
		}
	}
	if strings.Contains(ContentPolicy, "unsafe") || !strings.Contains(ContentPolicy, "default-src 'none'") {
		t.Errorf("the policy is %s", ContentPolicy)
	}
	if code, _, _ := get(t, "/other.js", false); code != http.StatusNotFound || Has("/other.js") || !Has("/") {
		t.Errorf("another path: %d", code)
	}
}

// TestTheDocumentSaysHowItIsUsed: by a token, or by what is after the # of the address.
func TestTheDocumentSaysHowItIsUsed(t *testing.T) {
	for _, a := range []Access{ByToken, ByFragment} {
		w := httptest.NewRecorder()
		Handler(a).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if !strings.Contains(w.Body.String(), `<body data-access="`+string(a)+`">`) {
			t.Errorf("%s: %s", a, w.Body.String())
		}
	}
}
