package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/sandbox"
)

var quick = sandbox.Settings{App: "bookinfo", Load: "constant:rps=5"}

func start(t *testing.T) *httptest.Server {
	t.Helper()
	handler := NewHandler(quick)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		handler.Close()
	})
	return server
}

// ask sends a message as the page does; change may change the request.
func ask(t *testing.T, server *httptest.Server, name, message string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, server.URL+"/message", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(nameHeader, name)
	if change != nil {
		change(r)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func nameOf(i int) string { return fmt.Sprintf("%032d", i) }

// TestPagesHaveClustersOfTheirOwn: each by its name, and the fifth page closes the one that was used
// least recently.
func TestPagesHaveClustersOfTheirOwn(t *testing.T) {
	server := start(t)
	at := func(page int, message string) float64 {
		t.Helper()
		code, text := ask(t, server, nameOf(page), message, nil)
		var r sandbox.Reply
		if err := json.Unmarshal([]byte(text), &r); err != nil || code != http.StatusOK || r.State == nil {
			t.Fatalf("page %d: %d, %s", page, code, text)
		}
		return r.State.At
	}
	for page := range maxDesks {
		if got := at(page, `{"open":{}}`); got != 900 {
			t.Errorf("page %d begins at %v s", page, got)
		}
	}
	if one, other := at(0, `{"step":{"seconds":60}}`), at(1, `{"step":{"seconds":5}}`); one != 960 || other != 905 {
		t.Errorf("one page is at %v s, the other at %v s", one, other)
	}
	at(maxDesks, `{"open":{}}`) // page 2 was used least recently
	code, text := ask(t, server, nameOf(2), `{"step":{"seconds":1}}`, nil)
	if code != http.StatusOK || !strings.Contains(text, "no sandbox is open") {
		t.Errorf("the page that made room gets %d, %s", code, text)
	}
	if got := at(0, `{"step":{"seconds":1}}`); got != 961 {
		t.Errorf("page 0 is at %v s", got)
	}
}

// TestOnlyTheOwnPageIsAnswered: other hosts' names, other origins, and what a form of another site can
// send are refused.
func TestOnlyTheOwnPageIsAnswered(t *testing.T) {
	server := start(t)
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		code   int
	}{
		{"the page itself", func(r *http.Request) {
			r.Header.Set("Origin", server.URL)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}, http.StatusOK},
		{"a name that was made to point here", func(r *http.Request) { r.Host = "evil.example:80" }, http.StatusForbidden},
		{"an address of the network", func(r *http.Request) { r.Host = "10.0.0.7" }, http.StatusForbidden},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		{"another port of this machine", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, http.StatusForbidden},
		{"no origin to speak of", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		{"another site, by the browser", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusForbidden},
		{"no name", func(r *http.Request) { r.Header.Del(nameHeader) }, http.StatusForbidden},
		{"a link", func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		{"a question whether another origin may", func(r *http.Request) { r.Method = http.MethodOptions }, http.StatusMethodNotAllowed},
		{"a message without end", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", maxMessage+1))), -1
		}, http.StatusBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, text := ask(t, server, nameOf(1), `{}`, c.change); code != c.code {
				t.Errorf("%d, %s; want %d", code, text, c.code)
			}
		})
	}
}

// TestThePageIsSmallAndLoadsNothingElse, and its policy says so.
func TestThePageIsSmallAndLoadsNothingElse(t *testing.T) {
	server := start(t)
	total := 0
	for _, name := range []string{"/", "/sandbox.js", "/sandbox.css"} {
		r, err := http.NewRequest(http.MethodGet, server.URL+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip") // the transport then leaves it as it is
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d, %v, %v", name, answer.StatusCode, answer.Header, err)
		}
		total += len(text)
		policy := answer.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", name, answer.Header)
		}
	}
	const most = 300_000
	if total > most {
		t.Errorf("the page has %d bytes, at most %d are allowed", total, most)
	}
	t.Logf("the page has %d bytes, compressed", total)
	for _, name := range []string{"sandbox.js", "sandbox.css", "worker.js"} {
		text := string(asset(name))
		for _, address := range regexp.MustCompile(`https?://[^\s"'<>)]*`).FindAllString(text, -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") {
				t.Errorf("%s contains the address %s", name, address)
			}
		}
		if strings.Contains(text, "@import") || strings.Contains(text, "url(") {
			t.Errorf("%s loads something", name)
		}
	}
	for path, want := range map[string]int{"/worker.js": 404, "/../handler.go": 404, "/message": 405} {
		answer, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
}

// TestAFolderNeedsAnEngine: a missing or wrong one is named, and nothing is written.
func TestAFolderNeedsAnEngine(t *testing.T) {
	dir, engine := filepath.Join(t.TempDir(), "out"), t.TempDir()
	fails := func(want string) {
		t.Helper()
		if err := WriteFolder(dir, quick, engine); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("something was written: %v", err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(engine, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fails("engine.wasm, is not in")
	write(engineFile, "no engine")
	fails("wasm_exec.js, is not in")
	write(supportFile, "// support")
	fails("is not WebAssembly")
	write(engineFile, wasmMagic+"...")
	if err := WriteFolder(dir, quick, engine); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(index), `data-engine="wasm"`) || !strings.Contains(string(index), "'wasm-unsafe-eval'") {
		t.Errorf("%v, %s", err, index)
	}
	var s sandbox.Settings
	text, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil || s.App != "bookinfo" || s.Load != quick.Load {
		t.Errorf("settings %s: %v", text, err)
	}
}
