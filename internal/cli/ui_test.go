package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console"
)

// smallStage is one small application that has run for a while.
func smallStage(t *testing.T) *stage {
	t.Helper()
	return newStage(t, 10*time.Minute, &stageApp{namespace: "shop", name: "single", app: mustApp(t, "single"), policy: "planner", load: "day",
		peak: 60, from: 9 * time.Hour, engine: "fluid", mode: v1alpha1.Act})
}

// ask a page's program, with headers in pairs.
func askUI(t *testing.T, method, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestUIReachesTheConsole: the page is served without the key, answers only with it, and nothing of the
// browser's request reaches the console.
func TestUIReachesTheConsole(t *testing.T) {
	s := smallStage(t)
	address := startUI(t, "--kubeconfig", kubeconfigOf(t, aliceToken), "--console", "http://"+s.address)
	base, fragment, _ := strings.Cut(address, "#key=")
	with, another := []string{"Authorization", "Bearer " + fragment}, []string{"Authorization", "Bearer " + strings.Repeat("0", 64)}

	answer, text := askUI(t, "GET", base)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `data-access="fragment"`) || strings.Contains(text, fragment) ||
		!strings.Contains(answer.Header.Get("Content-Security-Policy"), "script-src 'self';") {
		t.Errorf("the page: %d, %v, %s", answer.StatusCode, answer.Header, text)
	}
	answer, text = askUI(t, "GET", base+"api/v1/applications", append(with, "Cookie", "a=b", "X-Other", "c")...)
	var list console.List
	if err := json.Unmarshal([]byte(text), &list); err != nil || answer.StatusCode != http.StatusOK || len(list.Applications) != 1 ||
		len(answer.Header.Values("Content-Security-Policy")) != 1 {
		t.Errorf("the applications: %d, %v, %s", answer.StatusCode, answer.Header, text)
	}
	for name, row := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"without a key":              {"GET", "api/v1/applications", nil, http.StatusUnauthorized},
		"another key":                {"GET", "api/v1/applications", another, http.StatusUnauthorized},
		"the user's token":           {"GET", "api/v1/applications", []string{"Authorization", "Bearer " + aliceToken}, http.StatusUnauthorized},
		"another host":               {"GET", "", []string{"Host", "evil.example"}, http.StatusMisdirectedRequest},
		"a host that begins so":      {"GET", "", []string{"Host", "127.0.0.1.evil.example"}, http.StatusMisdirectedRequest},
		"a page of another site":     {"GET", "api/v1/applications", append(with, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a link from another site":   {"GET", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, http.StatusOK},
		"a write":                    {"POST", "api/v1/applications", with, http.StatusMethodNotAllowed},
		"a path outside":             {"GET", "metrics", with, http.StatusNotFound},
		"a path that climbs":         {"GET", "api/v1/%2e%2e/%2e%2e/nodes", with, http.StatusNotFound},
		"a path with a coded slash":  {"GET", "api/v1/applications/a%2fb", with, http.StatusNotFound},
		"an application that is not": {"GET", "api/v1/applications/shop/none", with, http.StatusNotFound},
	} {
		answer, text := askUI(t, row.method, base+row.path, row.headers...)
		if answer.StatusCode != row.want || strings.Contains(text, aliceToken) {
			t.Errorf("%s: %d, want %d: %s", name, answer.StatusCode, row.want, text)
		}
	}
}

// TestUIStreams: events arrive as they are sent, and later than any limit for an answer.
func TestUIStreams(t *testing.T) {
	s := smallStage(t)
	address := startUI(t, "--kubeconfig", kubeconfigOf(t, aliceToken), "--console", "http://"+s.address)
	base, key, _ := strings.Cut(address, "#key=")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	next := func(prefix string) string {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), prefix) {
				return lines.Text()
			}
		}
		t.Fatalf("the stream ended before %q: %v", prefix, lines.Err())
		return ""
	}
	first := next("data: ")
	next(": ready")
	s.advance(time.Minute)
	if second := next("data: "); second == first {
		t.Error("what changed is not in the second event")
	}
}

// TestUIThroughTheAPIServer: the token of the kubeconfig authenticates at the API server, which takes
// Authorization for itself, and reaches the console in a header of ours.
func TestUIThroughTheAPIServer(t *testing.T) {
	s := smallStage(t)
	const prefix = "/api/v1/namespaces/loadline-system/services/https:loadline-console:console/proxy"
	target := &url.URL{Scheme: "http", Host: s.address}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		path, is := strings.CutPrefix(p.In.URL.Path, prefix)
		if !is || p.In.Header.Get("Authorization") != "Bearer "+aliceToken {
			path = "/refused"
		}
		p.SetURL(target)
		p.Out.URL.Path = path
		p.Out.Header.Del("Authorization")
	}})
	defer server.Close()
	path := kubeconfigOf(t, aliceToken)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	there := fmt.Sprintf("%s\", certificate-authority-data: \"%s", server.URL, ca)
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("https://127.0.0.1:1"), []byte(there)), 0o600); err != nil {
		t.Fatal(err)
	}
	base, key, _ := strings.Cut(startUI(t, "--kubeconfig", path), "#key=")
	answer, said := askUI(t, "GET", base+"api/v1/applications/shop/single", "Authorization", "Bearer "+key)
	if answer.StatusCode != http.StatusOK || !strings.Contains(said, `"name":"single"`) {
		t.Errorf("%d %s", answer.StatusCode, said)
	}
}

// TestUIWithoutAToken: a kubeconfig with a client certificate only is told what to do; a file with a
// token helps.
func TestUIWithoutAToken(t *testing.T) {
	s := smallStage(t)
	path := kubeconfigOf(t, aliceToken)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("token: "+aliceToken), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	base, key, _ := strings.Cut(startUI(t, "--kubeconfig", path, "--console", "http://"+s.address), "#key=")
	answer, said := askUI(t, "GET", base+"api/v1/applications", "Authorization", "Bearer "+key)
	if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(said, "--token-file") {
		t.Errorf("%d %s", answer.StatusCode, said)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(aliceToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base, key, _ = strings.Cut(startUI(t, "--kubeconfig", path, "--console", "http://"+s.address, "--token-file", token), "#key=")
	if answer, said := askUI(t, "GET", base+"api/v1/applications", "Authorization", "Bearer "+key); answer.StatusCode != http.StatusOK {
		t.Errorf("with the file: %d %s", answer.StatusCode, said)
	}
}

// TestUIFlags: mistakes are named before anything is served.
func TestUIFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--addr 0.0.0.0:80":         {"--addr", "0.0.0.0:80"},
		"--addr \"8080\"":           {"--addr", "8080"},
		"--console-ca needs":        {"--console-ca", "ca.crt"},
		"--token-file":              {"--kubeconfig", kubeconfigOf(t, "x"), "--token-file", "no-such-file"},
		"--console \"localhost:1\"": {"--kubeconfig", kubeconfigOf(t, "x"), "--console", "localhost:1"},
	} {
		var out, errs bytes.Buffer
		code := Execute(t.Context(), NewRoot(), append([]string{"ui"}, args...), nil, &out, &errs)
		if code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: code %d: %s", args, code, errs.String())
		}
	}
}

// TestModelsOfTheConsole: versions, card and evaluation of a registry, the evaluation beside a twin, the
// estimate, and what a rollback returns to.
func TestModelsOfTheConsole(t *testing.T) {
	s := newStage(t, 61*time.Minute, &stageApp{namespace: "shop", name: "reviews", app: mustApp(t, "single"), policy: "planner",
		load: "day", peak: 60,
		from: 9 * time.Hour, engine: "fluid", mode: v1alpha1.Act})
	base := "http://" + s.address + "/api/v1/applications/shop/reviews/models"
	ask := func(query string) (m console.Models, code int) {
		answer, text := askUI(t, "GET", base+query, "Authorization", "Bearer "+aliceToken)
		if answer.StatusCode == http.StatusOK {
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatal(err)
			}
		}
		return m, answer.StatusCode
	}
	m, _ := ask("")
	if m.Estimate != nil || m.Judged != nil || m.Previous != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "spec.twin") {
		t.Errorf("of one that has nothing: %+v", m)
	}
	key := keyOfStage("shop", "reviews")
	s.addModels(key, "testdata/registry")
	m, _ = ask("")
	if m.Current != 3 || len(m.Versions) != 3 || m.Versions[2].Candidate != "planner-120" ||
		!strings.Contains(m.Card, "version 3: planner-120") ||
		m.Judged == nil || len(m.Judged.Candidates) != 10 || len(m.Judged.Curves) == 0 || len(m.Notes) != 0 {
		t.Errorf("of a registry: current %d, %d versions, notes %v, card %.60s", m.Current, len(m.Versions), m.Notes, m.Card)
	}
	if m.Previous == nil || m.Previous.Mode != "Recommend" || !strings.Contains(m.Previous.Policy, "hpa:target=80") {
		t.Errorf("previous: %+v", m.Previous)
	}
	if e := m.Estimate; e == nil || len(e.Others) != 1 || e.Current.PerMonth == nil || *e.Current.PerMonth <= 0 ||
		e.Others[0].Policy != ruleBeside {
		t.Errorf("estimate: %+v", e)
	}
	if m, _ := ask("?version=1"); !strings.Contains(m.Card, "version 1: scaling-ops-1") || m.Judged.Deployments[0].Label != "scaling-ops-1" {
		t.Errorf("another version: %s", m.Card)
	}
	for query, want := range map[string]int{"?version=9": http.StatusNotFound, "?version=x": http.StatusBadRequest,
		"?version=0": http.StatusBadRequest} {
		if _, code := ask(query); code != want {
			t.Errorf("%s: %d", query, code)
		}
	}
	if answer, _ := askUI(t, "GET", base, "Authorization", "Bearer "+bobToken); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a user of another namespace gets %d", answer.StatusCode)
	}
	judged, err := os.ReadFile("testdata/registry/bookinfo/0003/judged.json")
	if err != nil {
		t.Fatal(err)
	}
	s.twin(key, map[string]string{"judged.json": string(judged)})
	if m, _ := ask(""); m.Judged == nil || m.Judged.Deployments[0].Label != "planner-120" || len(m.Versions) != 0 {
		t.Errorf("beside a twin: %+v", m.Judged)
	}
	s.twin(key, map[string]string{"judged.json": "{"})
	if m, _ := ask(""); m.Judged != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "judged.json") {
		t.Errorf("a file that is cut off: %v", m.Notes)
	}
}
