package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loadline/loadline/internal/doctor"
)

// bareCluster is a server that has a version and nothing else, with a kubeconfig for it.
func bareCluster(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL)
}

func kubeconfigFor(t *testing.T, address string) string {
	name := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c,`+
		` user: u}}], clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, address)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDoctorExitCodes(t *testing.T) {
	for name, row := range map[string]struct {
		kubeconfig, args string
		want             int
		says             string
	}{
		"no fault":            {bareCluster(t), "", 0, "Kubernetes v1.36.0 answers"},
		"what is ok left out": {bareCluster(t), "--brief", 0, "KEDA is not installed"},
		"a fault":             {bareCluster(t), "shop/main", 1, "LoadLine shop/main cannot exist"},
		"no answer":           {kubeconfigFor(t, "http://127.0.0.1:1"), "", 2, "does not answer"},
		"a Prometheus is asked": {bareCluster(t), "--prometheus http://127.0.0.1:1 --namespace shop", 1,
			"The Prometheus that was given cannot be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"doctor", "--kubeconfig", row.kubeconfig}, strings.Fields(row.args)...)
			if got := Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); got != row.want {
				t.Errorf("exit code %d, want %d: %s%s", got, row.want, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), row.says) {
				t.Errorf("%q is not in: %s", row.says, stdout.String())
			}
			if strings.Contains(row.args, "--brief") && strings.Contains(stdout.String(), "  ok ") {
				t.Errorf("it is not brief: %s", stdout.String())
			}
		})
	}
}

// Prometheus is queried through the API server's proxy, with our credentials for it, and errors
// name the Prometheus.
func TestAPIProxy(t *testing.T) {
	path := "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cluster"+path+"/api/v1/query" || r.Header.Get("Authorization") != "Bearer ours" {
			http.Error(w, r.URL.Path+" as "+r.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		if err := r.ParseForm(); err != nil || r.Form.Get("query") != "vector(1)" {
			http.Error(w, "not that", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"7"]}]}}`)
	}))
	defer api.Close()
	p := apiProxy{config: &rest.Config{Host: api.URL + "/cluster", BearerToken: "ours"}}
	defer p.close()
	address := doctor.Address{URL: "http://prometheus.monitoring:9090", Proxy: path, Timeout: 5 * time.Second}
	s, err := p.connect(address)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Query(t.Context(), "vector(1)", time.Unix(1, 0))
	if err != nil || len(v) != 1 || v[0].Value != 7 {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := s.Query(t.Context(), "vector(2)", time.Unix(1, 0)); err == nil || !strings.Contains(err.Error(), address.URL) ||
		strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}

	// Without the random path there is no access.
	base, err := p.listen(path)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(base[:strings.LastIndex(base, "/")] + "/api/v1/query?query=vector(1)")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a stranger gets %d", resp.StatusCode)
	}
}
